//! Discarding a whole run, and going on beside one whose record a disk has broken.

use std::path::PathBuf;

use libtest_mimic::Failed;
use serde_json::json;

use crate::support::{Case, Outcome, World, at, case, sandboxed, says};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_run_is_removed_after_it_was_said_what_is_lost),
        sandboxed!(requests_that_nobody_has_carried_out_are_named),
        case!(what_has_landed_is_not_lost),
        case!(a_damaged_record_closes_what_follows_it_and_nothing_else),
    ]
}

/// Runs a plan with one command, and returns the run's id.
fn run(world: &World, name: &str) -> Result<String, Failed> {
    world.repository.write(
        "plan.md",
        &format!("- [ ] T1 Add {name} (run: touch {name})\n"),
    )?;
    let report = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    Ok(at(&report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

/// Returns everything of a run that is left: its refs, and its folders in the user's state.
fn left_of(world: &World, run: &str) -> Result<Vec<String>, Failed> {
    let refs = world.git("for-each-ref --format=%(refname)")?;
    let mut left: Vec<String> = refs
        .lines()
        .filter(|name| name.contains(run))
        .map(str::to_owned)
        .collect();
    let worktrees = world.git("worktree list")?;
    left.extend(
        worktrees
            .lines()
            .filter(|line| line.contains(run))
            .map(str::to_owned),
    );
    let mut open = vec![world.home.state()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().contains(run) {
                left.push(entry.path().display().to_string());
            } else if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(left)
}

fn a_run_is_removed_after_it_was_said_what_is_lost() -> Outcome {
    let world = World::plain()?;
    let (first, second) = (run(&world, "one")?, run(&world, "two")?);
    let worktree = world.archive()?.store().state(&first.as_str().into())?;
    let task = worktree
        .tasks()
        .next()
        .and_then(|record| record.branch().map(str::to_owned));
    assert!(
        !left_of(&world, &first)?.is_empty() && task.is_some(),
        "the run has left nothing to remove"
    );
    let lost = [" Add one (refs/heads/orchestrate/", "lost: "];
    says(&world.types(&["discard", &first, "--dry-run"], 0)?, &lost)?;
    // Without a terminal, nothing is removed without a yes.
    says(
        &world.types(&["discard", &first], 2)?,
        &["nothing was removed", "--yes` removes it"],
    )?;
    let before = left_of(&world, &first)?;
    says(
        &world.types(&["discard", &first, "--yes"], 0)?,
        &["is gone: removed "],
    )?;
    let after = left_of(&world, &first)?;
    assert!(!before.is_empty(), "{before:?}\n{after:?}");
    assert!(after.is_empty(), "{before:?}\n{after:?}");
    let listed = world.types(&["status", "--all"], 0)?.stdout;
    assert!(!listed.contains(&first), "{listed}");
    assert!(listed.contains(&second), "{listed}");
    // The other run has all that it needs, and the user's files and branch are as they were.
    world.types(&["log", &second, "--tools"], 0)?;
    world.types(&["land", &second], 0)?;
    let missing = world.types(&["discard", &first, "--yes"], 2)?;
    says(&missing, &["has no such run"])
}

fn requests_that_nobody_has_carried_out_are_named() -> Outcome {
    let world = World::with_plan(
        "- [ ] T1 one (run: touch one)\n- [ ] T2 two (run: od -N8 /dev/urandom > two)\n",
    )?;
    let report = world
        .types(&["run", "plan.md", "--merge", "review", "--json"], 3)?
        .json()?;
    let run = at(&report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    world.types(&["approve", "T1"], 0)?;
    world.types(&["reject", "T2", "-m", "Shorter, please"], 0)?;
    says(
        &world.types(&["discard", &run, "--dry-run"], 0)?,
        &[
            "lost: the request `approve T1`, which nobody has carried out",
            "lost: the request `reject T2: Shorter, please`",
        ],
    )?;
    let found = world
        .types(&["discard", &run, "--dry-run", "--json"], 0)?
        .json()?;
    let mut requests = found["requests"].clone();
    for request in requests.as_array_mut().into_iter().flatten() {
        assert!(request["requested"].is_string(), "{found}");
        request
            .as_object_mut()
            .and_then(|fields| fields.remove("requested"));
    }
    let expected = json!([
        {"command": "approve", "task": "T1"},
        {"command": "reject", "task": "T2", "message": "Shorter, please"},
    ]);
    assert_eq!(requests, expected, "{found}");
    world.types(&["resume"], 3)?;
    let found = world
        .types(&["discard", &run, "--dry-run", "--json"], 0)?
        .json()?;
    assert_eq!(found["requests"], json!([]), "{found}");
    Ok(())
}

fn what_has_landed_is_not_lost() -> Outcome {
    let world = World::plain()?;
    let first = run(&world, "one")?;
    world.types(&["land"], 0)?;
    let object = world
        .types(&["discard", &first, "--dry-run", "--json"], 0)?
        .json()?;
    assert!(
        object["lost"] == json!([]) && object["events"].as_u64().unwrap_or_default() >= 10,
        "{object}"
    );
    says(
        &world.types(&["discard", &first, "--yes"], 0)?,
        &["is gone"],
    )?;
    let files = world.git("ls-tree --name-only main")?;
    assert!(files.contains("one"), "{files}");
    Ok(())
}

/// Returns the only database of runs below the user's state.
fn database(world: &World) -> Result<PathBuf, Failed> {
    let repos = world.home.state().join("repos");
    let found = std::fs::read_dir(&repos)?
        .next()
        .ok_or("no repository has a journal")??;
    Ok(found.path().join("journal.db"))
}

fn a_damaged_record_closes_what_follows_it_and_nothing_else() -> Outcome {
    let world = World::plain()?;
    let broken = run(&world, "one")?;
    let path = database(&world)?;
    let mut bytes = std::fs::read(&path)?;
    let text = br#""arguments":{"command":"touch one"#;
    let at = bytes
        .windows(text.len())
        .position(|window| window == text)
        .ok_or("the record is not there")?;
    bytes[at + text.len() - 1] ^= 1;
    std::fs::write(&path, bytes)?;
    // What is unreadable is named, and is no defect of the program's.
    let ended = world.types(&["status"], 1)?;
    let told = [
        "is damaged: it has changed on disk",
        "orchestrate log r-",
        "`orchestrate run PLAN` continues",
    ];
    says(&ended, &told)?;
    assert!(!ended.stderr.contains("bug"), "{}", ended.stderr);
    let log = world.types(&["log"], 1)?;
    says(&log, &["T1: started command", "is damaged"])?;
    assert!(!log.stdout.contains("T1: merged"), "{}", log.stdout);
    says(&world.types(&["recover", &broken], 0)?, &["T1/"])?;
    says(&world.types(&["status", "--all"], 0)?, &[&broken])?;
    // The way on: another run, in the same repository, from the same plan.
    let next = run(&world, "two")?;
    world.types(&["land", &next], 0)?;
    world.types(&["discard", &broken, "--yes"], 0)?;
    assert!(left_of(&world, &broken)?.is_empty(), "it is still there");
    Ok(())
}
