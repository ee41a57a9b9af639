//! `watch`: a run that another process works on, followed live.

use orchestrate_core::run::request::Purpose;
use serde_json::Value;

use crate::support::{Case, Need, Outcome, WAITING, World, case, fail, says};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_run_is_followed_to_its_end),
        case!(a_run_is_followed_as_json),
        case!(live_lines_are_shown_on_a_terminal).needs(Need::TERMINAL),
        case!(the_last_line_of_a_check_is_shown).needs(Need::TERMINAL),
        case!(whoever_leaves_ends_nothing),
    ]
}

/// Lets the waiting task of [`WAITING`] end.
fn release(world: &World) -> Outcome {
    world.repository.write(".git/objects/go", "")
}

fn a_run_is_followed_to_its_end() -> Outcome {
    let world = World::with_plan(WAITING)?;
    let running = world
        .orchestrate(&["run", "plan.md", "--output-format", "stream-json"])
        .start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    let watching = world.orchestrate(&["watch", "--verbose"]).start()?;
    // What was recorded before is not told again.
    release(&world)?;
    running.end()?.exits(0)?;
    let watched = watching.end()?.exits(0)?;
    says(
        &watched,
        &[
            "T1: merged as ",
            "T1    merged  ",
            ": succeeded in ",
            "orchestrate land",
        ],
    )?;
    // A run that nobody works on is only shown.
    let shown = world.types(&["watch"], 0)?;
    assert!(!shown.stderr.contains("merged as"), "{shown:?}");
    assert!(shown.stdout.contains(": succeeded in "), "{shown:?}");
    Ok(())
}

fn a_run_is_followed_as_json() -> Outcome {
    let world = World::with_plan(WAITING)?;
    let running = world
        .orchestrate(&["run", "plan.md", "--output-format", "stream-json"])
        .start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    let watching = world.orchestrate(&["watch", "--json"]).start()?;
    release(&world)?;
    let ran = running.end()?.exits(0)?;
    let watched = watching.end()?.exits(0)?;
    let lines: Vec<&str> = watched.stdout.lines().collect();
    let told: Vec<&str> = ran.stdout.lines().collect();
    let [events @ .., last] = lines.as_slice() else {
        return fail(watched.stdout);
    };
    let last: Value = serde_json::from_str(last)?;
    // From the beginning, whenever the reader comes.
    let are_same = told[..told.len() - 1] == *events;
    if !are_same || last["type"] != "run.finished" || last["status"] != "succeeded" {
        return fail(format!("{}\n{}", ran.stdout, watched.stdout));
    }
    // A reader that has seen some goes on after them, and one that has seen what is not there is
    // told so.
    let rest = world.types(&["watch", "--json", "--from", "3"], 0)?;
    assert_eq!(
        rest.stdout.lines().collect::<Vec<_>>()[..events.len() - 3],
        events[3..]
    );
    let unknown = world.types(&["watch", "--json", "--from", "9999"], 2)?;
    says(
        &unknown,
        &[
            "there is no event 9999",
            "follow the run from its beginning",
        ],
    )?;
    let text = world.types(&["watch", "--from", "3"], 2)?;
    says(&text, &["--json"])
}

fn live_lines_are_shown_on_a_terminal() -> Outcome {
    let world = World::with_plan(WAITING)?;
    let running = world
        .orchestrate(&["run", "plan.md", "--output-format", "stream-json"])
        .start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    let watching = world.orchestrate(&["watch"]).start_in_terminal()?;
    watching.shows("0 of 1 merged, 1 at work")?;
    release(&world)?;
    running.end()?.exits(0)?;
    let shown = watching.end()?.exits(0)?.stdout;
    assert!(shown.contains(": succeeded in "), "{shown}");
    Ok(())
}

fn whoever_leaves_ends_nothing() -> Outcome {
    let world = World::with_plan(WAITING)?;
    let running = world
        .orchestrate(&["run", "plan.md", "--output-format", "stream-json"])
        .start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    let terminal = world.orchestrate(&["watch"]).start_in_terminal()?;
    terminal.shows(" at work")?;
    terminal.interrupts()?;
    says(
        &terminal.end()?.exits(130)?,
        &[" goes on; `orchestrate stop r-"],
    )?;
    let store = world.archive()?.store().clone();
    let run = store.latest_run()?.ok_or("there is no run")?;
    let works = store
        .lease(&run)?
        .is_some_and(|holder| holder.purpose == Purpose::Run);
    release(&world)?;
    running.end()?.exits(0)?;
    assert!(works, "the run has ended with its watcher");
    Ok(())
}

/// The command itself does not contain what it prints.
fn the_last_line_of_a_check_is_shown() -> Outcome {
    let world =
        World::with_plan(&WAITING.replacen("(run: ", "(run: echo $((100 + 23)) tests; ", 1))?;
    let running = world
        .orchestrate(&["run", "plan.md", "--output-format", "stream-json"])
        .start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    let watching = world.orchestrate(&["watch"]).start_in_terminal()?;
    watching.shows(": 123 tests")?;
    release(&world)?;
    running.end()?.exits(0)?;
    watching.end()?.exits(0)?;
    let noted = std::fs::read_dir(world.home.state().join("repos"))?.flatten();
    let notes = noted
        .filter_map(|repo| std::fs::read_dir(repo.path().join("running")).ok())
        .flatten()
        .count();
    assert_eq!(notes, 0, "the note of what runs is left");
    Ok(())
}
