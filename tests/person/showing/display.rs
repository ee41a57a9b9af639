//! What a user sees on a terminal and in lists: live lines that leave nothing behind, a coloured
//! diff through the user's own pager, what each agent does, and which run a command refers to.

use std::time::Duration;

use libtest_mimic::Failed;
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::support::{
    COLUMNS, Case, Need, Outcome, ROWS, Script, WAITING, World, at, case, done, fail, on,
    sandboxed, says, shell, there_is, until, write, write_program,
};

/// How long a command may take to start on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(live_lines_leave_nothing_behind).needs(Need::TERMINAL),
        case!(what_is_said_from_elsewhere_leaves_live_lines_whole).needs(Need::TERMINAL),
        case!(a_diff_goes_through_the_pager_of_the_person).needs(Need::TERMINAL),
        case!(a_diff_can_be_json),
        case!(status_tells_what_an_agent_does),
        case!(a_plan_with_nothing_to_do_is_no_run),
        case!(a_moved_repository_is_recognised),
        case!(a_run_after_a_move_joins_the_others),
        case!(runs_of_a_clone_are_only_offered),
        case!(a_new_test_is_no_risk),
        case!(the_last_line_of_a_command_is_shown_while_it_runs).needs(Need::TERMINAL),
        case!(the_last_line_of_a_landings_check_is_shown).needs(Need::TERMINAL),
        sandboxed!(names_are_written_out_and_kept_apart),
    ]
}

/// Interprets what was written to a terminal; returns every line, starting with those that have
/// left the screen.
fn lines_of(shown: &str) -> Vec<String> {
    let (rows, columns) = (usize::from(ROWS), usize::from(COLUMNS));
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0);
    let mut chars = shown.chars();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' => {
                let sequence: String = chars
                    .by_ref()
                    .skip(1)
                    .take_while(|c| c.is_ascii_digit())
                    .collect();
                // The sequence's last character has been consumed. Only two sequences are sent
                // here, "cursor up" and "clear the screen below", and only the first has a number.
                match sequence.parse::<usize>() {
                    Ok(up) => row = row.saturating_sub(up).max(lines.len().saturating_sub(rows)),
                    Err(_) => {
                        lines[row].truncate(column);
                        lines[row + 1..].iter_mut().for_each(Vec::clear);
                    }
                }
            }
            _ => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                }
                lines.resize(lines.len().max(row + 1), Vec::new());
                let width = lines[row].len().max(column + 1);
                lines[row].resize(width, ' ');
                lines[row][column] = c;
                column += 1;
            }
        }
        lines.resize(lines.len().max(row + 1), Vec::new());
    }
    lines.into_iter().map(String::from_iter).collect()
}

fn live_lines_leave_nothing_behind() -> Outcome {
    let plan: String = (1..=30)
        .map(|n| format!("- [ ] T{n} Make it (run: touch made{n})\n"))
        .collect();
    let world = World::with_plan(&plan)?;
    let run = ["run", "plan.md", "--max-agents", "26", "--verify", "true"];
    let ran = world
        .orchestrate(&run)
        .start_in_terminal()?
        .end()?
        .exits(0)?;
    assert!(ran.stdout.contains(" at work"), "{}", ran.stdout);
    let lines = lines_of(&ran.stdout);
    let left: Vec<&String> = lines.iter().filter(|line| is_live(line)).collect();
    let told = lines
        .iter()
        .filter(|line| line.contains(": merged as "))
        .count();
    assert!(left.is_empty(), "{told} told, left: {left:#?}");
    assert_eq!(told, 30, "{told} told, left: {left:#?}");
    Ok(())
}

fn is_live(line: &str) -> bool {
    line.contains(" tokens  cost -") || line.contains(" at work")
}

/// The command itself does not contain what it prints.
fn the_last_line_of_a_command_is_shown_while_it_runs() -> Outcome {
    let world =
        World::with_plan(&WAITING.replacen("(run: ", "(run: echo $((100 + 23)) tests; ", 1))?;
    let terminal = world.orchestrate(&["run", "plan.md"]).start_in_terminal()?;
    terminal.shows(": 123 tests")?;
    world.repository.write(".git/objects/go", "")?;
    let ran = terminal.end()?.exits(0)?;
    let left = lines_of(&ran.stdout)
        .into_iter()
        .any(|line| line.contains(": 123 tests"));
    if left { fail(ran.stdout) } else { Ok(()) }
}

fn the_last_line_of_a_landings_check_is_shown() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    let waits = concat!(
        "if ",
        there_is!("landing"),
        "; then echo $((100 + 23)) tests; until ",
        there_is!("go"),
        "; do sleep 0.05; done; fi"
    );
    world.types(&["run", "plan.md", "--verify", waits], 0)?;
    // The result is merged with it, so that the check has another tree.
    world.commit("beside.txt", "")?;
    world.repository.write(".git/objects/landing", "")?;
    let terminal = world.orchestrate(&["land"]).start_in_terminal()?;
    terminal.shows(": 123 tests")?;
    world.repository.write(".git/objects/go", "")?;
    let ran = terminal.end()?.exits(0)?;
    let left = lines_of(&ran.stdout)
        .into_iter()
        .any(|line| line.contains(": 123 tests"));
    if left { fail(ran.stdout) } else { Ok(()) }
}

/// The message that the process waits for the repository's lock appears beside the run's live
/// lines.
fn what_is_said_from_elsewhere_leaves_live_lines_whole() -> Outcome {
    for format in ["text", "stream-json"] {
        let world = World::with_plan(&format!(
            "{WAITING}- [ ] T2 two (run: touch two) (depends: T1)\n"
        ))?;
        let run = ["run", "plan.md", "--output-format", format];
        let terminal = world.orchestrate(&run).start_in_terminal()?;
        terminal.shows("cost -  run ")?;
        let held = world.home.lock()?;
        flock(&held, FlockOperation::LockExclusive)?;
        world.repository.write(".git/objects/go", "")?;
        terminal.shows("waiting up to ")?;
        flock(&held, FlockOperation::Unlock)?;
        let ran = terminal.end()?.exits(0)?;
        let lines = lines_of(&ran.stdout);
        let told = lines
            .iter()
            .filter(|line| line.starts_with("process "))
            .count();
        assert!(
            told != 0 && !lines.iter().any(|line| is_live(line)),
            "{format}: {lines:#?}"
        );
    }
    Ok(())
}

/// Creates a world with a run of one task, whose work is longer than the screen.
fn long_work() -> Result<World, Failed> {
    let world =
        World::with_plan("- [ ] T1 Make it (run: seq 100 > made; printf '\\033[2J' >> made)\n")?;
    world.types(&["run", "plan.md"], 0)?;
    Ok(world)
}

fn program(path: &std::path::Path, text: &str) -> Result<String, Failed> {
    write_program(path, text)?;
    Ok(path.display().to_string())
}

fn a_diff_goes_through_the_pager_of_the_person() -> Outcome {
    let world = long_work()?;
    let repository = world.repository.path();
    let mine = program(
        &world.home.path().join("mine"),
        "#!/bin/sh\necho MINE\ncat\n",
    )?;
    let theirs = program(&repository.join("less"), "#!/bin/sh\necho THEIRS\n")?;
    world.git(&format!("config core.pager {theirs}"))?;
    world.git(&format!("config pager.diff {theirs}"))?;
    // On the `PATH`, the repository's programs come before the user's own, with the same name.
    let own = world.home.path().join("own");
    std::fs::create_dir(&own)?;
    program(&own.join("less"), "#!/bin/sh\necho OWN\ncat\n")?;
    let path = format!(
        "{}:.:{}:{}",
        repository.display(),
        own.display(),
        std::env::var("PATH")?
    );
    for shows in [&["diff", "T1"][..], &["review", "T1"]] {
        let look = || world.home.orchestrate(repository, shows).env("PATH", &path);
        let paged = look()
            .env("GIT_PAGER", &mine)
            .start_in_terminal()?
            .end()?
            .exits(0)?;
        says(&paged, &["MINE", "\u{1b}[32m+100", "+\\u{1b}[2J"])?;
        let usual = look().start_in_terminal()?.end()?.exits(0)?;
        says(&usual, &["OWN", "\u{1b}[32m+100"])?;
        let named = look()
            .env("PAGER", "less -R")
            .start_in_terminal()?
            .end()?
            .exits(0)?;
        says(&named, &["OWN"])?;
        let none = look()
            .env("PAGER", "cat")
            .start_in_terminal()?
            .end()?
            .exits(0)?;
        let absent = look()
            .env("PAGER", "no-such-pager")
            .start_in_terminal()?
            .end()?
            .exits(0)?;
        [none, absent]
            .iter()
            .try_for_each(|shown| says(shown, &["\u{1b}[32m+100"]))?;
        let piped = look().env("GIT_PAGER", &mine).run()?.exits(0)?;
        let all = format!(
            "{}{}{}{}",
            paged.stdout, usual.stdout, named.stdout, piped.stdout
        );
        assert!(!all.contains("THEIRS"), "{all}");
        assert!(!piped.stdout.contains("MINE"), "{all}");
        assert!(!piped.stdout.contains("\u{1b}[32m"), "{all}");
    }
    Ok(())
}

fn a_diff_can_be_json() -> Outcome {
    let world = long_work()?;
    let found = world.types(&["diff", "T1", "--json"], 0)?.json()?;
    let diff = at(&found, "/diff")?.as_str().unwrap_or_default();
    let same = world.types(&["review", "T1", "--json"], 0)?.json()?;
    let agrees = ["task", "commit", "tree", "files", "diff"]
        .iter()
        .all(|name| found[name] == same[name]);
    assert!(agrees, "{found}");
    assert!(diff.contains("+100\n"), "{found}");
    assert_eq!(found["files"][0]["added"], 101, "{found}");
    Ok(())
}

fn status_tells_what_an_agent_does() -> Outcome {
    let world = World::with_plan("- [ ] T1 Look\n- [ ] T2 Wait (run: sleep 60)\n")?;
    let asks = shell(on("T1", 2), "touch asked");
    let model = world.script(
        &Script::default()
            .rule(write("T1", "one.txt", "1\n").turn(1))
            .rule(asks)
            .rule(done("T1")),
    )?;
    let run = [
        "run",
        "plan.md",
        "--model",
        &model,
        "--ask",
        "Bash(touch*)",
        "--output-format",
        "stream-json",
    ];
    let running = world
        .orchestrate(&run)
        .env("ORCHESTRATE_ASK", "park")
        .start()?;
    running.line(|line| line.contains("\"approval.requested\""))?;
    let status = until(PATIENCE, || {
        let status = world.types(&["status"], 0)?;
        Ok(
            (!status.stdout.contains("T2    pending") && status.stdout.contains("T2 runs"))
                .then_some(status),
        )
    })?;
    says(
        &status,
        &[
            "T1 waits in turn 2\n",
            "T2 runs its command\n",
            "orchestrate log\n",
            "orchestrate stop\n",
        ],
    )?;
    let working = world.types(&["status", "--json"], 0)?.json()?;
    let first = json!({"task": "T1", "state": "waiting", "turns": 2, "last_tool": "write_file", "outage": null});
    let is_told = *at(&working, "/working/0")? == first;
    world.types(&["stop", "--kill"], 0)?;
    running.end()?.exits(130)?;
    let after = world.types(&["status", "--json"], 0)?.json()?;
    assert!(is_told, "{working}\n{after}");
    Ok(())
}

fn a_plan_with_nothing_to_do_is_no_run() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    let first = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    world.repository.write(
        "plan.md",
        "- [x] T1 Make it (run: touch made)\n- [-] T2 No more\n- [ ] T3 Last (depends: T2)\n",
    )?;
    for format in ["text", "json", "stream-json"] {
        let again = world.types(&["run", "plan.md", "--output-format", format], 0)?;
        if format == "text" {
            says(&again, &["there was nothing to do"])?;
            continue;
        }
        let object = again.json()?;
        let states: Vec<_> = object["tasks"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|task| task["state"].clone())
            .collect();
        let is_none = object["run_id"].is_null()
            && object["exit_code"] == 0
            && object["type"] == "run.finished";
        assert!(is_none, "{object}");
        assert_eq!(object["base_commit"], first["base_commit"], "{object}");
        assert_eq!(states.len(), 3, "{object}");
        assert_eq!(states[2], "skipped", "{object}");
    }
    let newest = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(newest["run_id"], first["run_id"], "{newest}");
    says(&world.types(&["land"], 0)?, &["has landed: main went from"])
}

fn a_moved_repository_is_recognised() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    let run = world
        .types(&["run", "plan.md", "--merge", "review", "--json"], 3)?
        .json()?;
    let elsewhere = world.home.path().join("else where");
    std::fs::rename(world.repository.path(), &elsewhere)?;
    let types = |arguments: &[&str]| world.home.orchestrate(&elsewhere, arguments).run();
    let found = types(&["status", "--json"])?.exits(0)?;
    says(
        &found,
        &["this repository was moved from", "its runs have followed"],
    )?;
    assert_eq!(found.json()?["run_id"], run["run_id"], "{}", found.stdout);
    says(
        &types(&["approve", "T1", "--follow"])?.exits(0)?,
        &["T1    merged"],
    )?;
    says(&types(&["land"])?.exits(0)?, &["has landed"])?;
    // A copy is another repository as long as the original exists; so is a repository with other
    // commits.
    let copy = world.home.path().join("copy");
    world
        .home
        .command(
            "cp",
            world.home.path(),
            &["-r", &elsewhere.display().to_string(), "copy"],
        )
        .run()?
        .exits(0)?;
    says(
        &world.home.orchestrate(&copy, &["status"]).run()?.exits(2)?,
        &["this repository has no runs\n"],
    )?;
    std::fs::rename(&elsewhere, world.home.path().join("gone"))?;
    let other = world.home.path().join("other");
    std::fs::create_dir(&other)?;
    let script =
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m other";
    world
        .home
        .command("sh", &other, &["-ec", script])
        .run()?
        .exits(0)?;
    let none = world
        .home
        .orchestrate(&other, &["status"])
        .run()?
        .exits(2)?;
    says(&none, &["this repository has no runs\n"])
}

/// A run in the new place must not hide those of the old one.
fn a_run_after_a_move_joins_the_others() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    world
        .repository
        .write("next.md", "- [ ] N1 Make another (run: touch other)\n")?;
    let run = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    let elsewhere = world.home.path().join("elsewhere");
    std::fs::rename(world.repository.path(), &elsewhere)?;
    let types = |arguments: &[&str]| world.home.orchestrate(&elsewhere, arguments).run();
    let next = types(&["run", "next.md", "--json"])?.exits(0)?;
    says(&next, &["its runs have followed"])?;
    let listed = types(&["status", "--all", "--json"])?.exits(0)?.json()?;
    let listed: Vec<_> = listed["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|run| run["run_id"].clone())
        .collect();
    assert_eq!(
        listed,
        [next.json()?["run_id"].clone(), run["run_id"].clone()]
    );
    let run = run["run_id"].as_str().unwrap_or_default();
    says(&types(&["land", run])?.exits(0)?, &["has landed"])?;
    says(&types(&["clean", run])?.exits(0)?, &["has no worktrees"]).map(drop)
}

/// Without the branches of its runs, as in a clone, a repository may be another one: the user
/// decides.
fn runs_of_a_clone_are_only_offered() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    let run = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    world.types(&["land"], 0)?;
    world.types(&["clean"], 0)?;
    let clone = world.home.path().join("a clone");
    let (from, to) = (
        world.repository.path().display().to_string(),
        clone.display().to_string(),
    );
    world
        .home
        .command("git", world.home.path(), &["clone", "-q", &from, &to])
        .run()?
        .exits(0)?;
    std::fs::rename(world.repository.path(), world.home.path().join("gone"))?;
    let types = |arguments: &[&str]| world.home.orchestrate(&clone, arguments).run();
    let lost = types(&["status"])?.exits(2)?;
    says(
        &lost,
        &["since it was moved here; its runs were recorded at"],
    )?;
    let commands: Vec<&str> = lost
        .stderr
        .split('`')
        .filter(|part| part.starts_with("mv ") || part.starts_with("find "))
        .collect();
    let [moves, _] = commands.as_slice() else {
        return fail(lost.stderr);
    };
    world
        .home
        .command("sh", &clone, &["-ec", moves])
        .run()?
        .exits(0)?;
    let found = types(&["status", "--json"])?.exits(0)?.json()?;
    assert_eq!(found["run_id"], run["run_id"], "{found}");
    Ok(())
}

fn a_new_test_is_no_risk() -> Outcome {
    let world = World::with_plan(
        "- [ ] T1 New (run: mkdir -p tests; echo 1 > tests/new.sh)\n- [ ] T2 Old (run: echo 1 >> tests/old.sh)\n",
    )?;
    world.commit("tests/old.sh", "0\n")?;
    world.types(&["run", "plan.md"], 0)?;
    let listed = world.types(&["review", "--json"], 0)?.json()?;
    let risks = [&listed["items"][0]["risk"], &listed["items"][1]["risk"]];
    says(&world.types(&["review"], 0)?, &["TOKENS  COST  TITLE\n"])?;
    says(
        &world.types(&["review", "T2"], 0)?,
        &[
            "0 tokens, cost -\n",
            "risk: tests/old.sh is changed: it is a test\n",
        ],
    )?;
    assert_eq!(risks, ["low", "high"], "{listed}");
    Ok(())
}

/// Names with line ends, and names that are not UTF-8, remain distinct in each listing.
fn names_are_written_out_and_kept_apart() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: sh make.sh)\n")?;
    let names = ["a\\nb", "a\\rb", "caf\\350", "caf\\351"];
    let script: String = names
        .iter()
        .map(|name| format!("printf 1 > \"$(printf '{name}')\"\n"))
        .collect();
    world.commit("make.sh", &script)?;
    world.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let shown = [
        "  a\\nb +1 -0\n",
        "  a\\rb +1 -0\n",
        "  caf\\xe8 +1 -0\n",
        "  caf\\xe9 +1 -0\n",
    ];
    says(&world.types(&["review", "T1"], 0)?, &shown)?;
    let found = world.types(&["diff", "T1", "--json"], 0)?.json()?;
    let listed: Vec<&str> = found["files"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|file| file["path"].as_str())
        .collect();
    assert_eq!(listed, ["a\nb", "a\rb", "caf\\xe8", "caf\\xe9"], "{found}");
    Ok(())
}
