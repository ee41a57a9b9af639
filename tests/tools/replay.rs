//! The cache of `tool run`: keys, modes, the guard, the lists, and what is stored.

use std::os::unix::fs::MetadataExt;

use libtest_mimic::Failed;

use super::shell::{bash, bash_in, field, markers};
use crate::support::{Case, Outcome, Ran, World, at, case, fail, require_words, with_program};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_hit_is_replayed_byte_for_byte_and_starts_nothing),
        case!(a_replay_that_nobody_reads_can_be_interrupted),
        case!(a_key_has_its_four_parts),
        case!(the_mode_comes_from_the_option_or_the_environment),
        case!(open_tasks_guard_the_build_phase),
        case!(only_what_passed_is_found_by_key_commit_and_agent),
        case!(the_lists_say_what_is_never_replayed),
        case!(a_changed_file_is_a_miss),
        case!(a_command_that_changed_files_is_never_replayed),
        case!(output_may_go_to_a_file_of_the_repository),
        case!(what_git_does_not_look_at_counts_too),
        case!(another_environment_is_a_miss),
        case!(a_pipe_or_a_folder_in_the_place_of_a_result),
        case!(what_comes_on_standard_input_is_part_of_the_key),
        case!(another_programs_word_for_the_mode_is_understood),
        case!(a_damaged_result_is_said_and_made_again),
        case!(a_cache_that_cannot_be_used_stops_nothing),
        case!(what_is_stored_is_private),
        case!(the_second_example_of_the_reference),
        case!(the_third_example_of_the_reference),
    ]
}

/// A command that counts its runs in a file outside of the repository.
fn counting(world: &World) -> String {
    format!("echo run >> {}", world.file("runs"))
}

fn runs(world: &World) -> usize {
    std::fs::read_to_string(world.file("runs")).map_or(0, |text| text.lines().count())
}

/// Types a call of the counting command with these options, and requires whether it ran.
fn require_run(world: &World, typed: &str, expected: bool) -> Result<Ran, Failed> {
    let (before, command) = (runs(world), counting(world));
    let (variables, options) = typed.rsplit_once(';').unwrap_or(("", typed));
    let script = format!("{variables} orchestrate tool run {options} -c '{command}' < /dev/null");
    let ran = bash(world, &script)?.exits(0)?;
    let has_run = runs(world) > before;
    let hits = markers(&ran.stderr, "CACHE_HIT").len();
    assert!(
        has_run == expected && hits == usize::from(!expected),
        "{typed}: {} {}",
        if has_run { "ran" } else { "did not run" },
        ran.stderr
    );
    Ok(ran)
}

fn a_hit_is_replayed_byte_for_byte_and_starts_nothing() -> Outcome {
    let world = World::plain()?;
    let typed = format!(
        "orchestrate tool run --name check --cache use --cache-key 'a|build|k|s' -c \
         '{}; printf \"\\0a\\r\\n\\377\"; echo said >&2; printf \":::TOOL_END::: x\\n:::\"' > {}; cat {} | od -An -c",
        counting(&world),
        world.file("output"),
        world.file("output"),
    );
    let first = bash(&world, &typed)?.exits(0)?;
    let second = bash(&world, &typed)?.exits(0)?;
    assert_eq!(first.stdout, second.stdout, "{first:?}\n{second:?}");
    assert_eq!(runs(&world), 1, "{first:?}\n{second:?}");
    require_words(
        &first.stderr,
        &[
            ":::CACHE_MISS::: cache_key=a|build|k|s tool=check ts=",
            ":::TOOL_START:::",
        ],
    )?;
    require_words(
        &second.stderr,
        &[
            ":::CACHE_HIT::: cache_key=a|build|k|s tool=check ts=",
            "\nsaid\n",
        ],
    )?;
    assert!(!second.stderr.contains("TOOL_"), "{}", second.stderr);
    assert!(!second.stderr.contains("CACHE_MISS"), "{}", second.stderr);
    let stats = world.types(&["cache", "stats", "--json"], 0)?.json()?;
    let numbers = ["/entries", "/hits", "/misses"]
        .map(|name| at(&stats, name).ok().and_then(serde_json::Value::as_u64));
    assert_eq!(numbers, [Some(1), Some(1), Some(1)], "{stats}");
    require_words(
        &world.types(&["cache", "stats"], 0)?.stdout,
        &["1 results, ", "1 hits, 1 misses"],
    )?;
    world.types(&["cache", "clear"], 0)?;
    bash(&world, &typed)?.exits(0)?;
    assert_eq!(runs(&world), 2, "what was cleared was replayed");
    Ok(())
}

/// Bytes of a pipe or a file are part of the key, and the command gets them; an input that does not
/// end is passed on.
fn what_comes_on_standard_input_is_part_of_the_key() -> Outcome {
    let world = World::plain()?;
    let (command, input) = (counting(&world), world.write("input", "from a file\n")?);
    let call = format!("orchestrate tool run --cache use -c '{command}; cat'");
    let table = [
        (format!("echo one | {call}"), true, "one\n"),
        (format!("echo one | {call}"), false, "one\n"),
        (format!("echo two | {call}"), true, "two\n"),
        (format!("{call} < {input}"), true, "from a file\n"),
        (format!("cat {input} | {call}"), false, "from a file\n"),
        (
            format!("{{ read first; {call}; }} < <(printf 'one\\none\\n')"),
            false,
            "one\n",
        ),
    ];
    for (typed, expected, said) in table {
        let before = runs(&world);
        let ran = bash(&world, &typed)?.exits(0)?;
        let (hits, misses) = (
            markers(&ran.stderr, "CACHE_HIT").len(),
            markers(&ran.stderr, "CACHE_MISS").len(),
        );
        let has_run = runs(&world) > before;
        assert!(
            ran.stdout == said
                && has_run == expected
                && (hits, misses) == (usize::from(!expected), usize::from(expected)),
            "{typed}: {ran:?}"
        );
    }
    let endless = format!(
        "mkfifo gate; {{ echo begun; read line < gate; }} | {call} & \
                           exec 3<> gate; until [ \"$(wc -l < {})\" = 4 ]; do sleep 0.05; done; echo >&3; wait",
        world.file("runs")
    );
    let ran = bash(&world, &endless)?.exits(0)?;
    require_words(
        &ran.stderr,
        &["standard input is long or does not end, so the result is not stored"],
    )?;
    assert_eq!(ran.stdout, "begun\n", "{ran:?}");
    Ok(())
}

fn another_programs_word_for_the_mode_is_understood() -> Outcome {
    let world = World::plain()?;
    for expected in [true, false] {
        let ran = require_run(&world, "CACHE_MODE=readwrite; --cache-key k", expected)?;
        require_words(
            &ran.stderr,
            &["warning: CACHE_MODE=readwrite is read as `use`"],
        )?;
    }
    Ok(())
}

fn a_replay_that_nobody_reads_can_be_interrupted() -> Outcome {
    let world = World::plain()?;
    // More than a pipe holds.
    let call = "orchestrate tool run --cache use --cache-key k -- head -c 300000 /dev/zero";
    let script = format!(
        "{call} > /dev/null; mkfifo pipe said; exec 3<> pipe; {call} 2> said >&3 & \
         grep -q -m 1 CACHE_HIT said; kill -INT $!; wait $!"
    );
    bash(&world, &script)?.exits(130)?;
    Ok(())
}

fn a_key_has_its_four_parts() -> Outcome {
    let world = World::plain()?;
    world.repository.write("prompt.txt", "Do it.\n")?;
    let parts = bash(
        &world,
        "echo $(sha256sum prompt.txt | cut -c1-16)\\|$(git rev-parse --short HEAD)",
    )?
    .stdout;
    let rest = parts.trim();
    let table = [
        (
            "AGENT_NAME=RovoDev RUNNER=other",
            "--phase build",
            "rovodev|build|",
        ),
        ("RUNNER=Other", "--phase plan --iter 3", "other|plan|"),
        ("RUNNER=Other", "--agent Mine --iter 4", "mine|build|"),
        ("AGENT_NAME=", "--id x", "local|build|"),
    ];
    for (variables, options, beginning) in table {
        let typed =
            format!("{variables} orchestrate tool run {options} --prompt-file prompt.txt -- true");
        let ran = bash(&world, &typed)?.exits(0)?;
        if field(&ran.stderr, "TOOL_START", "cache_key")? != format!("{beginning}{rest}") {
            return fail(format!("{typed}: {}", ran.stderr));
        }
    }
    let outside = format!(
        "orchestrate tool run --prompt-file {}/prompt.txt -- true",
        world.repository.path().display()
    );
    let ran = bash_in(&world, world.home.path(), &outside)?.exits(0)?;
    assert!(
        field(&ran.stderr, "TOOL_START", "cache_key")?.ends_with("|unknown"),
        "{}",
        ran.stderr
    );
    Ok(())
}

fn the_mode_comes_from_the_option_or_the_environment() -> Outcome {
    let world = World::plain()?;
    let table = [
        // Nothing asks for the cache, so nothing is stored.
        ("--cache-key k", true),
        ("--cache-key k --cache read", true),
        ("--cache-key k --cache write", true),
        ("--cache-key k", true),
        ("--cache-key k --cache read", false),
        ("--cache-key k --cache write", true),
        ("CACHE_SKIP=true; --cache-key k", false),
        ("CACHE_MODE=use; --cache-key k", false),
        ("CACHE_MODE=use; --cache-key k --no-cache", true),
        ("CACHE_MODE=use; --cache-key k --cache off", true),
        ("CACHE_MODE=off CACHE_SKIP=false; --cache-key k", true),
        ("CACHE_MODE=use; --cache-key other", true),
        ("CACHE_MODE=use; --cache-key other", false),
    ];
    for (typed, runs) in table {
        let ran = require_run(&world, typed, runs)?;
        if typed.starts_with("CACHE_MODE=use; --cache-key other") {
            require_words(
                &ran.stderr,
                &[":::CACHE_CONFIG::: mode=use scope=build exported=1 ts="],
            )?;
        }
    }
    Ok(())
}

fn open_tasks_guard_the_build_phase() -> Outcome {
    let world = World::plain()?;
    let plan = world.write("PLAN.md", "# Plan\n- [ ] T1 Write it\n")?;
    let typed = format!("--cache use --cache-key k --iter 5 --plan {plan}");
    let key = "--cache use --cache-key k";
    require_run(&world, key, true)?;
    let guarded = require_run(&world, &typed, true)?;
    require_words(
        &guarded.stderr,
        &[":::CACHE_GUARD::: iter=5 allowed=0 reason=pending_tasks phase=build ts="],
    )?;
    require_words(&guarded.stderr, &[":::TOOL_START:::", "result=PASS"])?;
    require_run(&world, &format!("{typed} --phase plan"), false)?;
    world.write("PLAN.md", "# Plan\n- [x] T1 Write it\n  - [ ] a detail\n")?;
    require_run(&world, &typed, false)?;
    Ok(())
}

fn only_what_passed_is_found_by_key_commit_and_agent() -> Outcome {
    let world = World::plain()?;
    let count = counting(&world);
    for _ in 0..2 {
        bash(
            &world,
            &format!("orchestrate tool run --cache use --cache-key f -c '{count}; exit 1'"),
        )?
        .exits(1)?;
    }
    assert_eq!(runs(&world), 2, "a failure was replayed");
    let typed = "--cache use --cache-key k --git-sha 1a2b --agent a";
    require_run(&world, typed, true)?;
    require_run(&world, typed, false)?;
    require_run(&world, &typed.replace("1a2b", "other"), true)?;
    require_run(&world, &typed.replace("--agent a", "--agent b"), true)?;
    Ok(())
}

fn the_lists_say_what_is_never_replayed() -> Outcome {
    let world = World::plain()?;
    for program in ["shellcheck", "markdownlint", "pre-commit", "acli", "deploy"] {
        with_program(&world.home, program, &counting(&world))?;
    }
    let twice = |typed: &str| {
        let before = runs(&world);
        for _ in 0..2 {
            bash(
                &world,
                &format!("orchestrate tool run --cache use {typed} < /dev/null"),
            )?
            .exits(0)?;
        }
        Ok::<usize, Failed>(runs(&world) - before)
    };
    let count = counting(&world);
    let table = [
        ("-- shellcheck a.sh", 1),
        ("-- markdownlint .", 1),
        ("-- pre-commit run --all-files", 1),
        ("-- acli rovodev invoke --prompt-file p", 2),
        (
            "--name rovodev --cache-key k -- acli rovodev invoke --prompt-file p",
            1,
        ),
        (
            "--cache-key g -c 'git push --dry-run . HEAD:refs/heads/x; COUNT'",
            2,
        ),
        (
            "--cache-key h -c 'git commit -q --allow-empty -m x; COUNT'",
            2,
        ),
        ("--name write_file --cache-key i -c COUNT", 2),
        ("--cache-key j -- deploy now", 1),
    ];
    for (typed, expected) in table {
        let typed = typed
            .replace("COUNT'", &format!("{count}'"))
            .replace("-c COUNT", &format!("-c '{count}'"));
        let found = twice(&typed)?;
        if found != expected {
            return fail(format!("{typed} ran {found} times instead of {expected}"));
        }
    }
    // The user's list and the project's add to the shipped one; a project can make no exception.
    std::fs::create_dir_all(world.home.path().join("config/orchestrate"))?;
    world.write(
        "config/orchestrate/non_cacheable_tools.txt",
        "deploy # mine\n",
    )?;
    world.repository.write(
        ".orchestrate/non_cacheable_tools.txt",
        "markdownlint\nkeyed: deploy\n",
    )?;
    let found = [
        twice("--cache-key j -- deploy now")?,
        twice("-- markdownlint .")?,
        twice("-- shellcheck b.sh")?,
    ];
    assert_eq!(found, [2, 2, 1]);
    let said = bash(
        &world,
        "orchestrate tool run --cache use -- shellcheck b.sh < /dev/null",
    )?
    .stderr;
    require_words(
        &said,
        &["a project's list cannot make exceptions: keyed: deploy"],
    )
}

fn a_changed_file_is_a_miss() -> Outcome {
    let world = World::plain()?;
    let typed = "--cache use";
    require_run(&world, typed, true)?;
    require_run(&world, typed, false)?;
    world.repository.write("new.txt", "1\n")?;
    require_run(&world, typed, true)?;
    require_run(&world, typed, false)?;
    world.repository.write("new.txt", "2\n")?;
    require_run(&world, typed, true)?;
    world.repository.commit_all("Add a file")?;
    require_run(&world, typed, true)?;
    require_run(&world, typed, false)?;
    // So is one that reads the same from its input.
    let count = counting(&world);
    let before = runs(&world);
    for _ in 0..2 {
        bash(
            &world,
            &format!("echo input | orchestrate tool run --cache use -c 'cat; {count}'"),
        )?
        .exits(0)?;
    }
    assert_eq!(
        runs(&world),
        before + 1,
        "a command that read the same input was not replayed"
    );
    Ok(())
}

/// A replay would pretend that the work was done.
fn a_command_that_changed_files_is_never_replayed() -> Outcome {
    let world = World::plain()?;
    let file = world.repository.path().join("m.py");
    for options in ["", "--cache-key k"] {
        for command in [
            "echo \"x = 1\" > m.py; echo formatted",
            "git update-index --add m.py; echo staged",
        ] {
            world.repository.write("m.py", "x=1\n")?;
            world.git("rm -q --cached --ignore-unmatch m.py")?;
            for _ in 0..2 {
                let typed = format!(
                    "orchestrate tool run --cache use {options} -c '{command}' < /dev/null"
                );
                let ran = bash(&world, &typed)?.exits(0)?;
                assert!(
                    markers(&ran.stderr, "CACHE_HIT").is_empty(),
                    "{typed}: {ran:?}"
                );
                require_words(
                    &ran.stderr,
                    &["files were changed while the command ran, so its result is not stored"],
                )?;
                world.git("rm -q -f --cached --ignore-unmatch m.py")?;
                std::fs::write(&file, "x=1\n")?;
            }
        }
    }
    Ok(())
}

fn output_may_go_to_a_file_of_the_repository() -> Outcome {
    let world = World::plain()?;
    let said = world.file("said");
    let table = [
        // What is appended is another key, unless the caller names one.
        ("--cache-key k", "report.txt", "said.txt"),
        ("", "report.txt", said.as_str()),
    ];
    for (options, report, said) in table {
        let typed = format!(
            "orchestrate tool run --cache use {options} -c 'echo report; echo said >&2' < /dev/null > {report} 2>> {said}; \
             cat {report}; grep -c CACHE_HIT {said}"
        );
        bash(&world, &typed)?.exits(1)?;
        let second = bash(&world, &typed)?.exits(0)?;
        assert_eq!(second.stdout, "report\n1\n", "{typed}: {second:?}");
    }
    Ok(())
}

fn what_git_does_not_look_at_counts_too() -> Outcome {
    let world = World::plain()?;
    let made = "git init -q nested && cd nested && git -c user.name=n -c user.email=e commit -q --allow-empty -m x; cd ..; \
                git init -q sub && cd sub && git -c user.name=n -c user.email=e commit -q --allow-empty -m x; cd ..; \
                echo 1 > assumed; echo 1 > skipped; git add assumed skipped sub; \
                git config -f .gitmodules submodule.sub.path sub; git config -f .gitmodules submodule.sub.url ./sub; \
                git config -f .gitmodules submodule.sub.ignore all; git add .gitmodules; \
                git -c user.name=n -c user.email=e commit -q -m more; \
                git update-index --assume-unchanged assumed; git update-index --skip-worktree skipped";
    bash(&world, made)?.exits(0)?;
    let typed = "--cache use";
    require_run(&world, typed, true)?;
    require_run(&world, typed, false)?;
    for path in ["assumed", "skipped", "nested/new", "sub/new"] {
        for content in ["2\n", "3\n"] {
            world.repository.write(path, content)?;
            require_run(&world, typed, true)?;
            require_run(&world, typed, false)?;
        }
    }
    for folder in ["nested", "sub"] {
        let commit = format!(
            "cd {folder} && git add new && git -c user.name=n -c user.email=e commit -q -m new"
        );
        bash(&world, &commit)?.exits(0)?;
        require_run(&world, typed, true)?;
        require_run(&world, typed, false)?;
    }
    Ok(())
}

fn another_environment_is_a_miss() -> Outcome {
    let world = World::plain()?;
    require_run(&world, "LEVEL=1; --cache use", true)?;
    require_run(&world, "LEVEL=1; --cache use", false)?;
    require_run(&world, "LEVEL=2; --cache use", true)?;
    // How the cache is used says nothing of the result.
    require_run(&world, "LEVEL=2 CACHE_MODE=use SHLVL=7;", false)?;
    Ok(())
}

fn a_pipe_or_a_folder_in_the_place_of_a_result() -> Outcome {
    let world = World::plain()?;
    let typed = "--cache use --cache-key k";
    require_run(&world, typed, true)?;
    let stored = entry(&world)?;
    for make in ["mkfifo", "mkdir"] {
        bash(&world, &format!("rm {0}; {make} {0}", stored.display()))?.exits(0)?;
        let ran = require_run(&world, typed, true)?;
        require_words(
            &ran.stderr,
            &[
                "a stored result was damaged and has been removed: ",
                ":::CACHE_MISS:::",
            ],
        )?;
        require_run(&world, typed, false)?;
    }
    bash(
        &world,
        &format!("rm {0}; mkdir -p {0}/below", stored.display()),
    )?
    .exits(0)?;
    require_words(
        &world.types(&["cache", "stats"], 0)?.stdout,
        &["0 results, "],
    )?;
    require_words(
        &world.types(&["cache", "clear"], 0)?.stdout,
        &["removed 0 results, 0 bytes"],
    )?;
    assert!(!stored.exists(), "the folder is still there");
    Ok(())
}

/// Returns the path of the only stored result.
fn entry(world: &World) -> Result<std::path::PathBuf, Failed> {
    let mut files = std::fs::read_dir(world.home.state().join("cache"))?
        .flatten()
        .map(|file| file.path());
    let found = files.find(|file| {
        file.extension()
            .is_some_and(|extension| extension == "entry")
    });
    found.ok_or_else(|| Failed::from("nothing is stored"))
}

fn a_damaged_result_is_said_and_made_again() -> Outcome {
    let world = World::plain()?;
    let typed = "--cache use --cache-key k";
    require_run(&world, typed, true)?;
    let stored = entry(&world)?;
    let mut bytes = std::fs::read(&stored)?;
    let last = bytes.len() - 40;
    bytes[last] ^= 1;
    std::fs::write(&stored, bytes)?;
    let ran = require_run(&world, typed, true)?;
    require_words(
        &ran.stderr,
        &[
            "a stored result was damaged and has been removed: ",
            ":::CACHE_MISS:::",
        ],
    )?;
    require_run(&world, typed, false)?;
    Ok(())
}

fn a_cache_that_cannot_be_used_stops_nothing() -> Outcome {
    let world = World::plain()?;
    std::fs::create_dir_all(world.home.state())?;
    world.write("state/orchestrate/cache", "no folder\n")?;
    let ran = require_run(&world, "--cache use --cache-key k", true)?;
    require_words(
        &ran.stderr,
        &[
            "warning: failed to create ",
            "the cache is not used",
            "result=PASS",
        ],
    )?;
    let stats = world.types(&["cache", "stats"], 1)?;
    require_words(&stats.stderr, &["failed to create "])
}

fn what_is_stored_is_private() -> Outcome {
    let world = World::plain()?;
    bash(
        &world,
        "umask 0; orchestrate tool run --cache use --cache-key k -- echo secret",
    )?
    .exits(0)?;
    let mut open = vec![world.home.state()];
    while let Some(path) = open.pop() {
        let found = path.symlink_metadata()?;
        if found.mode() & 0o077 != 0 {
            return fail(format!("{}: {:o}", path.display(), found.mode()));
        }
        if found.is_dir() {
            open.extend(
                std::fs::read_dir(&path)?
                    .flatten()
                    .map(|entry| entry.path()),
            );
        }
    }
    Ok(())
}

/// "Wrap LLM Call": looked up by the hash of the prompt, else run under the wrapper.
fn the_second_example_of_the_reference() -> Outcome {
    let world = World::plain()?;
    with_program(
        &world.home,
        "acli",
        &format!("{}; printf 'answer' > \"$6\"; echo done", counting(&world)),
    )?;
    world.write("prompt_with_mode.txt", "Build it.\n")?;
    let script = format!(
        r#"
        export AGENT_NAME=RovoDev RUNNER=rovodev CACHE_MODE=use
        prompt_with_mode="{}"
        phase="build"
        git_sha="$(git rev-parse --short HEAD)"
        output_file="{}"
        orchestrate tool run --name "$RUNNER" --phase "$phase" --git-sha "$git_sha" --prompt-file "$prompt_with_mode" \
          -c "acli rovodev invoke --prompt-file '$prompt_with_mode' --output-file '$output_file'"
        "#,
        world.file("prompt_with_mode.txt"),
        world.file("output.txt"),
    );
    let first = bash(&world, &script)?.exits(0)?;
    let second = bash(&world, &script)?.exits(0)?;
    assert!(
        runs(&world) == 1
            && second.stdout == "done\n"
            && markers(&second.stderr, "CACHE_HIT").len() == 1,
        "{first:?}\n{second:?}"
    );
    world.write("prompt_with_mode.txt", "Build something else.\n")?;
    let third = bash(&world, &script)?.exits(0)?;
    assert_eq!(runs(&world), 2, "{third:?}");
    assert!(
        field(&third.stderr, "TOOL_START", "cache_key")?.starts_with("rovodev|build|"),
        "{third:?}"
    );
    Ok(())
}

/// "Non-Cacheable Tool": an explicit key, and no lookup.
fn the_third_example_of_the_reference() -> Outcome {
    let world = World::plain()?;
    let script = r#"
        git_sha="$(git rev-parse --short HEAD)"
        cache_key="git|commit|nocache|${git_sha}"
        CACHE_MODE=use orchestrate tool run --name "git" --cache-key "$cache_key" --git-sha "$git_sha" \
          -c "git commit -q --allow-empty -m 'fix: resolve issue'"
        "#;
    let ran = bash(&world, script)?.exits(0)?;
    assert!(!ran.stderr.contains("CACHE_MISS"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("CACHE_HIT"), "{}", ran.stderr);
    require_words(
        &ran.stderr,
        &["tool=git cache_key=git|commit|nocache|", "result=PASS"],
    )?;
    let subject = world.git("log -1 --format=%s")?;
    assert_eq!(subject.trim(), "fix: resolve issue", "{subject}");
    Ok(())
}
