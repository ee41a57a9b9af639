//! `tool run`: markers, exit codes, signals, output.

use std::collections::BTreeSet;

use super::shell::{bash, bash_in, field, fields, log, markers, typed};
use crate::support::{
    Case, GRACE, Need, Outcome, World, at, case, fail, is_alive, require_gone, require_words,
    seconds, until,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(markers_surround_a_command),
        case!(the_callers_values_stand_in_the_markers),
        case!(the_exit_code_is_the_commands),
        case!(a_start_is_logged_before_the_command_runs),
        case!(int_and_term_end_a_command_with_all_its_processes),
        case!(a_second_signal_kills_what_does_not_end),
        case!(ctrl_c_ends_a_command_and_the_loop_around_it).needs(Need::TERMINAL),
        case!(a_command_can_ask_at_the_terminal).needs(Need::TERMINAL),
        case!(a_killed_call_leaves_no_process_and_is_ended_by_the_next),
        case!(two_loops_never_share_an_id),
        case!(output_that_looks_like_a_marker_is_escaped),
        case!(large_output_passes_byte_for_byte),
        case!(what_a_command_has_passes_through),
        case!(a_reader_that_has_seen_enough_ends_a_command),
        case!(a_full_disk_hides_no_end).needs(Need::MOUNTS),
        case!(output_that_is_lost_is_no_pass),
        case!(what_a_command_leaves_in_the_background_stays),
        case!(it_works_outside_a_repository),
        case!(wrong_usage_starts_nothing),
        case!(the_first_example_of_the_reference),
        case!(the_checks_of_the_reference),
        case!(each_call_is_audited),
    ]
}

fn markers_surround_a_command() -> Outcome {
    let world = World::plain()?;
    let ran = bash(&world, "orchestrate tool run -- echo hello")?.exits(0)?;
    let [start, end] = ran.stderr.lines().collect::<Vec<_>>()[..] else {
        return fail(ran.stderr);
    };
    assert!(
        ran.stdout == "hello\n" && fields(start) == ["id", "tool", "cache_key", "git_sha", "ts"],
        "{ran:?}"
    );
    if fields(end) != ["id", "result", "rc", "exit", "duration_ms", "ts"] {
        return fail(end);
    }
    let commit = world.git("rev-parse --short HEAD")?;
    let expected = [
        ("TOOL_START", "id", "tool_00001"),
        ("TOOL_START", "tool", "echo"),
        ("TOOL_START", "git_sha", commit.trim()),
        ("TOOL_END", "id", "tool_00001"),
        ("TOOL_END", "result", "PASS"),
        ("TOOL_END", "rc", "0"),
    ];
    for (marker, name, value) in expected {
        if field(&ran.stderr, marker, name)? != value {
            return fail(format!("{name} is not {value}: {}", ran.stderr));
        }
    }
    let number =
        |marker, name| Ok::<u64, libtest_mimic::Failed>(field(&ran.stderr, marker, name)?.parse()?);
    let (began, ended, took) = (
        number("TOOL_START", "ts")?,
        number("TOOL_END", "ts")?,
        number("TOOL_END", "duration_ms")?,
    );
    // In milliseconds, so between the years 2001 and 2286.
    assert_eq!(began.to_string().len(), 13, "{}", ran.stderr);
    assert_eq!(ended - began, took, "{}", ran.stderr);
    assert_eq!(log(&world)?, ran.stderr);
    Ok(())
}

fn the_callers_values_stand_in_the_markers() -> Outcome {
    let world = World::plain()?;
    let ran = bash(
        &world,
        "orchestrate tool run --id tool_00042 --name 'my check' --cache-key 'rovodev|build|abc123|1a2b' \
         --git-sha 1a2b -c 'true && exit 7'",
    )?
    .exits(7)?;
    require_words(
        &ran.stderr,
        &[
            ":::TOOL_START::: id=tool_00042 tool=my%20check cache_key=rovodev|build|abc123|1a2b git_sha=1a2b ts=",
            ":::TOOL_END::: id=tool_00042 result=FAIL rc=7 exit=7 duration_ms=",
            " reason=exit_code_7 ts=",
        ],
    )
}

fn the_exit_code_is_the_commands() -> Outcome {
    let world = World::plain()?;
    let table = [
        ("-- true", 0),
        ("-- false", 1),
        ("-c 'exit 42'", 42),
        ("-c 'kill -KILL $$'", 137),
        ("-c 'kill -TERM $$'", 143),
        ("-- no-such-program", 127),
        ("-- ./README.md", 126),
    ];
    world.repository.write("README.md", "no program\n")?;
    for (typed, code) in table {
        let ran = bash(&world, &format!("orchestrate tool run {typed}"))?.exits(code)?;
        let reason = if code == 0 {
            String::new()
        } else {
            format!("reason=exit_code_{code} ")
        };
        require_words(
            &ran.stderr,
            &[&format!("rc={code} exit={code} "), &format!("{reason}ts=")],
        )?;
        assert_eq!(markers(&ran.stderr, "TOOL_END").len(), 1, "{}", ran.stderr);
    }
    Ok(())
}

fn a_start_is_logged_before_the_command_runs() -> Outcome {
    let world = World::plain()?;
    let ran = bash(
        &world,
        "orchestrate tool run --id first -- cat -- \"$XDG_STATE_HOME\"/orchestrate/tool-calls/*/log; \
         orchestrate tool run --id second -c 'cat \"$XDG_STATE_HOME\"/orchestrate/tool-calls/*/log'",
    )?
    .exits(0)?;
    // In its own output, a marker is escaped.
    require_words(
        &ran.stdout,
        &[
            "::\\:TOOL_END::: id=first ",
            "::\\:TOOL_START::: id=second ",
        ],
    )?;
    assert!(
        !ran.stdout.contains("TOOL_END::: id=second"),
        "{}",
        ran.stdout
    );
    Ok(())
}

/// Waits until a command runs, then sends signals to the wrapper in the background. A shell has
/// such a command ignore INT; the wrapper does not.
fn interrupted(
    world: &World,
    command: &str,
    signals: &str,
) -> Result<crate::support::Ran, libtest_mimic::Failed> {
    bash(
        world,
        &format!(
            "mkfifo gate; orchestrate tool run --id t -c '{command}' & read line < gate; \
             for signal in {signals}; do kill -$signal $!; done; wait $!"
        ),
    )
}

fn int_and_term_end_a_command_with_all_its_processes() -> Outcome {
    for (salt, signal) in (1..).zip(["INT", "TERM", "HUP"]) {
        let world = World::plain()?;
        let [one, two] = [salt, salt + 10].map(|salt| seconds(world.home.path(), salt));
        let command = format!("setsid sleep {one} & echo > gate; sleep {two}");
        let ran = interrupted(&world, &command, signal)?.exits(130)?;
        let ends = markers(&ran.stderr, "TOOL_END");
        require_words(
            &ran.stderr,
            &[
                "id=t result=FAIL rc=130 exit=130 ",
                " reason=interrupted ts=",
            ],
        )?;
        if ends.len() != 1 || markers(&log(&world)?, "TOOL_END") != ends {
            return fail(format!("{signal}: {}", ran.stderr));
        }
        require_gone(&one)?;
        require_gone(&two)?;
    }
    Ok(())
}

fn a_second_signal_kills_what_does_not_end() -> Outcome {
    let world = World::plain()?;
    let time = seconds(world.home.path(), 3);
    let command = format!("trap \"\" INT TERM; echo > gate; sleep {time}");
    let ran = interrupted(&world, &command, "INT TERM")?.exits(130)?;
    require_words(
        &ran.stderr,
        &["result=FAIL rc=130 exit=130 ", " reason=interrupted ts="],
    )?;
    require_gone(&time)
}

fn ctrl_c_ends_a_command_and_the_loop_around_it() -> Outcome {
    let world = World::plain()?;
    let time = seconds(world.home.path(), 6);
    let script = format!(
        "for n in 1 2; do orchestrate tool run --id t$n -c 'echo begun; sleep {time}'; done; echo after"
    );
    let terminal = typed(&world, world.repository.path(), &script).start_in_terminal()?;
    terminal.shows("begun")?;
    terminal.interrupts()?;
    let ran = terminal.end()?.exits(130)?;
    require_words(
        &ran.stdout,
        &[
            "id=t1 result=FAIL rc=130 exit=130 ",
            " reason=interrupted ts=",
        ],
    )?;
    require_gone(&time)?;
    assert!(!ran.stdout.contains("after"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("id=t2"), "{}", ran.stdout);
    Ok(())
}

fn a_command_can_ask_at_the_terminal() -> Outcome {
    let world = World::plain()?;
    let script = "orchestrate tool run -c 'printf \"name? \"; read name < /dev/tty; echo hello $name' < /dev/null";
    let terminal = typed(&world, world.repository.path(), script).start_in_terminal()?;
    terminal.shows("name? ")?;
    terminal.types("you\n")?;
    require_words(
        &terminal.end()?.exits(0)?.stdout,
        &["hello you", "result=PASS"],
    )
}

fn a_killed_call_leaves_no_process_and_is_ended_by_the_next() -> Outcome {
    let world = World::plain()?;
    let [one, two] = [4, 5].map(|salt| seconds(world.home.path(), salt));
    let command = format!("setsid sleep {one} & echo > gate; sleep {two}");
    interrupted(&world, &command, "KILL")?.exits(137)?;
    require_gone(&one)?;
    require_gone(&two)?;
    let ids = |text: &str, name: &str| -> Vec<String> {
        markers(text, name)
            .iter()
            .filter_map(|line| Some(line.split(' ').nth(1)?.to_owned()))
            .collect()
    };
    let before = log(&world)?;
    assert_eq!(ids(&before, "TOOL_START"), ["id=t"], "{before}");
    assert!(ids(&before, "TOOL_END").is_empty(), "{before}");
    bash(
        &world,
        "orchestrate tool run -- true; orchestrate tool run -- true",
    )?
    .exits(0)?;
    let after = log(&world)?;
    require_words(
        &after,
        &[
            ":::TOOL_END::: id=t result=FAIL rc=130 exit=130 ",
            " reason=interrupted ts=",
        ],
    )?;
    assert_eq!(
        ids(&after, "TOOL_END"),
        ["id=t", "id=tool_00001", "id=tool_00002"],
        "{after}"
    );
    Ok(())
}

fn two_loops_never_share_an_id() -> Outcome {
    let world = World::plain()?;
    let one = "for n in 1 2 3 4 5; do orchestrate tool run -- true; done";
    let ran = bash(&world, &format!("({one}) & ({one}) & wait"))?.exits(0)?;
    let ids = |name| -> BTreeSet<String> {
        markers(&ran.stderr, name)
            .iter()
            .filter_map(|line| Some(line.split(' ').nth(1)?.to_owned()))
            .collect()
    };
    let expected: BTreeSet<String> = (1..=10)
        .map(|number| format!("id=tool_{number:05}"))
        .collect();
    assert_eq!(ids("TOOL_START"), expected, "{}", ran.stderr);
    assert_eq!(ids("TOOL_END"), expected, "{}", ran.stderr);
    Ok(())
}

fn output_that_looks_like_a_marker_is_escaped() -> Outcome {
    let world = World::plain()?;
    let mark = ":::TOOL_END::: id=t result=PASS rc=0";
    let command =
        format!("printf \"a {mark}\\n{mark}\\n::: note\\n\"; printf \"{mark}\\nhalf\" >&2; exit 1");
    let ran = bash(
        &world,
        &format!("orchestrate tool run --id t -c '{command}'"),
    )?
    .exits(1)?;
    let escaped = mark.replacen(":::", "::\\:", 1);
    assert_eq!(ran.stdout, format!("a {mark}\n{escaped}\n::: note\n"));
    // A line that the command has begun is ended before the marker.
    require_words(
        &ran.stderr,
        &[&format!(
            "\n{escaped}\nhalf\n:::TOOL_END::: id=t result=FAIL rc=1 "
        )],
    )?;
    assert_eq!(markers(&ran.stderr, "TOOL_END").len(), 1, "{}", ran.stderr);
    // If both outputs are one file, their order is kept.
    let both = bash(
        &world,
        "orchestrate tool run -c 'echo 1; echo 2 >&2; echo 3; printf 4' 2>&1",
    )?
    .exits(0)?;
    require_words(&both.stdout, &["\n1\n2\n3\n4\n:::TOOL_END:::"])
}

fn large_output_passes_byte_for_byte() -> Outcome {
    let world = World::plain()?;
    let ran = bash(
        &world,
        "made() { head -c 30000000 /dev/zero | tr '\\0' x | fold -w 1000; }; \
         made | sha256sum; orchestrate tool run -c \"$(declare -f made); made\" 2> /dev/null | sha256sum",
    )?
    .exits(0)?;
    match ran.stdout.lines().collect::<Vec<_>>()[..] {
        [expected, found] if expected == found => Ok(()),
        _ => fail(format!("{ran:?}")),
    }
}

fn what_a_command_has_passes_through() -> Outcome {
    let world = World::plain()?;
    world.repository.write("below/file", "x\n")?;
    let ran = bash(
        &world,
        "cd below; ulimit -n 99; ulimit -c 0; echo typed | SAID='in the environment' orchestrate tool run -c \
         'cat; pwd; echo \"$SAID\"; ulimit -n'",
    )?
    .exits(0)?;
    let folder = world.repository.path().canonicalize()?.join("below");
    let expected = format!("typed\n{}\nin the environment\n99\n", folder.display());
    assert_eq!(ran.stdout, expected, "{ran:?}");
    Ok(())
}

fn a_reader_that_has_seen_enough_ends_a_command() -> Outcome {
    let world = World::plain()?;
    let ran = bash(
        &world,
        "orchestrate tool run -- yes | head -n 1; echo ${PIPESTATUS[0]}",
    )?
    .exits(0)?;
    // As without the wrapper: by SIGPIPE.
    assert_eq!(ran.stdout, "y\n141\n", "{ran:?}");
    Ok(())
}

fn a_full_disk_hides_no_end() -> Outcome {
    let world = World::plain()?;
    std::fs::create_dir_all(world.home.path().join("state"))?;
    let small = "mount -t tmpfs -o size=256k none \"$XDG_STATE_HOME\"";
    let fill = "cat /dev/zero >> $(echo \"$XDG_STATE_HOME\"/orchestrate/tool-calls/*/log) 2> /dev/null; exit 7";
    let typed = ["tool", "run", "--id", "t", "-c", fill];
    let ran = world
        .home
        .remounted(small, world.repository.path(), &typed)
        .run()?
        .exits(7)?;
    require_words(
        &ran.stderr,
        &[
            ":::TOOL_START::: id=t ",
            ":::TOOL_END::: id=t result=FAIL rc=7 exit=7 ",
        ],
    )?;
    require_words(
        &ran.stderr,
        &[
            "warning: failed to record the call in ",
            "No space left on device",
        ],
    )
}

fn output_that_is_lost_is_no_pass() -> Outcome {
    let world = World::plain()?;
    let typed = "orchestrate tool run --id t --cache use --cache-key k -c 'echo hi' > /dev/full";
    for _ in 0..2 {
        let ran = bash(&world, typed)?.exits(1)?;
        require_words(
            &ran.stderr,
            &[
                "id=t result=FAIL rc=1 exit=1 ",
                "No space left on device",
                "CACHE_MISS",
            ],
        )?;
    }
    // The command's own failure comes first.
    bash(
        &world,
        "orchestrate tool run -c 'echo hi; exit 7' > /dev/full",
    )?
    .exits(7)?;
    Ok(())
}

/// As in a shell, and although it holds the command's output.
fn what_a_command_leaves_in_the_background_stays() -> Outcome {
    let world = World::plain()?;
    let time = seconds(world.home.path(), 7);
    let ran = bash(
        &world,
        &format!("orchestrate tool run -c 'sleep {time} & echo $!'"),
    )?
    .exits(0)?;
    let stays = until(GRACE, || Ok(is_alive(&time)?.then_some(())));
    bash(&world, &format!("kill {}", ran.stdout))?;
    assert!(stays.is_ok(), "{ran:?}");
    assert!(ran.stderr.contains("result=PASS"), "{ran:?}");
    Ok(())
}

fn it_works_outside_a_repository() -> Outcome {
    let world = World::plain()?;
    let ran = bash_in(
        &world,
        world.home.path(),
        "orchestrate tool run --phase plan -- true",
    )?
    .exits(0)?;
    let key = field(&ran.stderr, "TOOL_START", "cache_key")?;
    if field(&ran.stderr, "TOOL_START", "git_sha")? != "unknown" || !key.ends_with("|unknown") {
        return fail(ran.stderr);
    }
    // Before the first commit there is none, either.
    let unborn = bash_in(
        &world,
        world.home.path(),
        "git init -q new && cd new && orchestrate tool run -- true",
    )?;
    if field(&unborn.stderr, "TOOL_START", "git_sha")? == "unknown" {
        Ok(())
    } else {
        fail(unborn.stderr)
    }
}

fn wrong_usage_starts_nothing() -> Outcome {
    let world = World::plain()?;
    let table = [
        ("", "required"),
        ("--phase test -- touch made", "plan, build"),
        ("--cache all -- touch made", "off, read, write, use"),
        (
            "--cache use --no-cache -- touch made",
            "cannot be used with",
        ),
        (
            "--prompt-file nowhere -- touch made",
            "failed to read the prompt nowhere",
        ),
        (
            "--cache use --plan nowhere --cache-key k -- true made",
            "failed to read the plan nowhere",
        ),
        ("--id '' -- touch made", "empty"),
        ("-c 'touch made' -- touch made", "cannot be used with"),
    ];
    for (typed, said) in table {
        let ran = bash(&world, &format!("orchestrate tool run {typed}"))?.exits(2)?;
        assert!(ran.stderr.contains(said), "{typed}: {ran:?}");
        assert!(!ran.stderr.contains("TOOL_START"), "{typed}: {ran:?}");
        let json = bash(&world, &format!("orchestrate tool run --json {typed}"))?
            .exits(2)?
            .json()?;
        assert_eq!(at(&json, "/type")?, "error", "{json}");
        assert_eq!(at(&json, "/exit_code")?, 2, "{json}");
    }
    let wrong = bash(&world, "CACHE_MODE=all orchestrate tool run -- touch made")?.exits(2)?;
    require_words(&wrong.stderr, &["CACHE_MODE"])?;
    assert!(
        !world.repository.path().join("made").exists(),
        "something was started"
    );
    Ok(())
}

/// "Wrap a Shell Command", with the wrapper in the place of the function.
fn the_first_example_of_the_reference() -> Outcome {
    let world = World::plain()?;
    world.repository.write("workers/ralph/loop.sh", "echo\n")?;
    world.repository.write("workers/ralph/other.sh", "echo\n")?;
    crate::support::with_program(&world.home, "shellcheck", "echo \"$@\"")?;
    let ran = bash(
        &world,
        r#"
        tool_id="tool_00042"
        tool_name="shellcheck"
        git_sha="$(git rev-parse --short HEAD)"
        cache_key="rovodev|build|abc123|${git_sha}"
        command="shellcheck -e SC1091 workers/ralph/*.sh"

        orchestrate tool run --id "$tool_id" --name "$tool_name" --cache-key "$cache_key" --git-sha "$git_sha" -c "$command"
        rc=$?
        if [[ $rc -eq 0 ]]; then
          echo "Shellcheck passed"
        fi
        "#,
    )?
    .exits(0)?;
    let expected = "-e SC1091 workers/ralph/loop.sh workers/ralph/other.sh\nShellcheck passed\n";
    assert_eq!(ran.stdout, expected, "{ran:?}");
    require_words(
        &ran.stderr,
        &[
            "id=tool_00042 tool=shellcheck cache_key=rovodev|build|abc123|",
            "result=PASS rc=0",
        ],
    )
}

/// Each call has a line that `audit verify` accepts, a replayed one as well; the environment may
/// name another file.
fn each_call_is_audited() -> Outcome {
    let world = World::plain()?;
    let elsewhere = world.file("audit.jsonl");
    let ran = bash(
        &world,
        &format!(
            "AGENT_NAME=Loop orchestrate tool run --id one -- true; orchestrate tool run --id two --iter 3 -c 'exit 7'; \
             for n in 1 2; do orchestrate tool run --id three --cache use --cache-key k -- true; done; \
             RALPH_AUDIT_LOG_PATH={elsewhere} orchestrate tool run -- true; \
             cat \"$XDG_STATE_HOME\"/orchestrate/tool-calls/*/audit.jsonl; \
             orchestrate audit verify --file \"$(echo \"$XDG_STATE_HOME\"/orchestrate/tool-calls/*/audit.jsonl)\"; \
             orchestrate audit verify --file {elsewhere}"
        ),
    )?
    .exits(0)?;
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [one, two, three, replayed, verified, other] = lines[..] else {
        return fail(format!("{ran:?}"));
    };
    require_words(
        one,
        &[
            r#""agent_id":"loop","tool_name":"true","parameters":{"command":["true"]},"success":true"#,
        ],
    )?;
    require_words(
        two,
        &[
            r#""error":"exit code 7","exit_code":7,"#,
            r#""turn":3,"call_id":"two","seq":2,"#,
        ],
    )?;
    require_words(three, &[r#""call_id":"three""#])?;
    require_words(replayed, &[r#""cached":true"#])?;
    require_words(verified, &[": 4 calls, unchanged among themselves"])?;
    require_words(other, &[": 1 calls, unchanged among themselves"])
}

/// "Testing & Validation": exit codes and both markers; the interruption has a test of its own.
fn the_checks_of_the_reference() -> Outcome {
    let world = World::plain()?;
    let ran = bash(
        &world,
        r#"
        run_tool() { orchestrate tool run --id "$1" --name "$2" --cache-key "$3" --git-sha "$4" -c "$5"; }
        run_tool "test_002" "false" "test|build|false|abc" "abc123" "false"
        echo "Exit code: $?"
        run_tool "test_003" "echo" "test|build|echo|abc" "abc123" "echo hello" 2>&1 | grep ":::TOOL_"
        "#,
    )?
    .exits(0)?;
    let shown: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split(" ts=").next())
        .collect();
    let start =
        ":::TOOL_START::: id=test_003 tool=echo cache_key=test|build|echo|abc git_sha=abc123";
    match shown[..] {
        ["Exit code: 1", first, second]
            if first == start && second.starts_with(":::TOOL_END::: id=test_003") =>
        {
            Ok(())
        }
        _ => fail(format!("{ran:?}")),
    }
}
