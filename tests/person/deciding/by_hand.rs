//! Work by hand: what a person changes in an agent's worktree and on its branch, and parts of an
//! agent's work.

use orchestrate_core::TaskState;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::task::ReturnCause;
use serde_json::json;

use crate::support::{
    Case, Outcome, Rule, Script, World, at, case, done, fail, on, put, require_words, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_persons_commit_and_files_become_the_work),
        case!(a_conflict_is_resolved_by_hand),
        case!(a_part_is_merged_and_the_rest_goes_back),
        case!(a_rest_of_which_nothing_is_made_is_told),
        case!(a_file_that_looks_like_a_secret_is_taken_by_name),
    ]
}

fn a_persons_commit_and_files_become_the_work() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 Make one (run: echo 1 > one; echo 1 > two)\n",
    )?;
    world.types(
        &[
            "run",
            "plan.md",
            "--merge",
            "review",
            "--verify",
            "test ! -e never",
        ],
        3,
    )?;
    let folder = world
        .types(&["open", "T1"], 0)?
        .stdout
        .trim_end()
        .to_owned();
    let by_hand =
        |name: &str, text: &str| std::fs::write(std::path::Path::new(&folder).join(name), text);
    by_hand("one", "by hand\n")?;
    world
        .repository
        .git(&["-C", &folder, "commit", "-q", "-a", "-m", "Mend one"])?;
    by_hand("two", "by hand\n")?;
    by_hand("three", "new\n")?;
    let reviewed = world.types(&["review", "--json"], 0)?.json()?;
    if at(&reviewed, "/items/0/own")? != &json!({"commits": 1, "files": ["three", "two"]}) {
        return fail(format!("{reviewed:#}"));
    }
    let shown = world.types(&["review", "T1"], 0)?.stdout;
    require_words(
        &shown,
        &[
            "1 commit and 2 files of yours are not in it: three, two",
            "orchestrate adopt T1",
        ],
    )?;
    // A part of the work alone would lose them.
    let refused = world.types(&["approve", "T1", "--only", "one"], 2)?.stderr;
    require_words(
        &refused,
        &[
            "1 commit and 2 files of yours are not in it",
            "orchestrate adopt T1",
        ],
    )?;
    // Once the work is merged, they could not be adopted.
    let refused = world.types(&["approve", "T1", "--follow"], 3)?.stderr;
    require_words(
        &refused,
        &[
            "1 commit and 2 files of yours are not in it",
            "orchestrate adopt T1",
            "--tree",
        ],
    )?;
    let waits = world
        .types(&["adopt", "T1", "-m", "Mend two", "--json", "--follow"], 3)?
        .json()?;
    world.types(&["adopt", "T1"], 2)?;
    // What was reviewed is not what would be approved.
    world.types(&["approve", "T1"], 2)?;
    world.types(&["review", "T1"], 0)?;
    let ended = world
        .types(&["approve", "T1", "--json", "--follow"], 0)?
        .json()?;
    if at(&waits, "/tasks/0/state")? != "awaiting_review" {
        return fail(format!("{waits:#}"));
    }
    let result = at(&ended, "/integration_commit")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let files = ["one", "two", "three"].map(|name| world.repository.show(&result, name));
    let files: Vec<String> = files.into_iter().collect::<Result<_, _>>()?;
    let told = world.repository.git(&[
        "log",
        "-3",
        "--format=%an: %s%n%b",
        &result,
        "--",
        "one",
        "two",
    ])?;
    let is_persons = told.contains(": Mend two") && told.contains(": Mend one");
    assert_eq!(files, ["by hand", "by hand", "new"], "{told}");
    assert!(is_persons, "{files:?}\n{told}");
    let own = world
        .repository
        .git(&["log", "-1", "--format=%b", "--grep", "Mend two", &result])?;
    assert!(!own.contains("Assisted-by"), "{own}");
    assert!(own.contains("Orchestrate-Task: T1"), "{own}");
    Ok(())
}

/// The agent whose work conflicts says that it is done, whatever it is told.
fn a_conflict_is_resolved_by_hand() -> Outcome {
    let world = World::plain()?;
    let script = Script::default()
        .rule(write("T1", "shared.txt", "one\n"))
        .rule(write("T2", "shared.txt", "two\n"))
        .rule(done("T1"))
        .rule(done("T2"));
    let played = world.play("- [ ] T1 one\n- [ ] T2 two\n", &script, |_| {})?;
    let conflicted = played
        .report
        .tasks
        .iter()
        .find(|task| task.state == TaskState::Conflicted);
    let Some(task) = conflicted.map(|task| task.id.as_str()) else {
        return fail(played.story());
    };
    // What the merge wrote is not the person's.
    let reviewed = world.types(&["review", task], 0)?.stdout;
    assert!(!reviewed.contains("of yours"), "{reviewed}");
    let refused = world.types(&["adopt", task], 2)?.stderr;
    require_words(
        &refused,
        &["these conflicts are not resolved: shared.txt:1"],
    )?;
    let folder = world
        .types(&["open", task], 0)?
        .stdout
        .trim_end()
        .to_owned();
    std::fs::write(
        std::path::Path::new(&folder).join("shared.txt"),
        "one\ntwo\n",
    )?;
    let reviewed = world.types(&["review", task], 0)?.stdout;
    require_words(&reviewed, &["1 file of yours is not in it: shared.txt"])?;
    world.types(&["adopt", task, "-m", "Keep both lines", "--follow"], 0)?;
    let integration = &played.report.run_id.integration_branch();
    let own = world.repository.git(&[
        "log",
        "-1",
        "--format=%s",
        "--grep",
        "Keep both",
        integration,
    ])?;
    let text = world.repository.show(integration, "shared.txt")?;
    assert_eq!(
        (text.as_str(), own.trim_end()),
        ("one\ntwo", "Keep both lines"),
        "{text}"
    );
    Ok(())
}

/// All of the work is approved with it, and nothing returns.
fn a_file_that_looks_like_a_secret_is_taken_by_name() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 Make one (run: echo 1 > one; echo PASSWORD=hunter2 > .env)\n",
    )?;
    world.types(&["run", "plan.md"], 3)?;
    let reviewed = world.types(&["review", "T1"], 0)?.stdout;
    require_words(
        &reviewed,
        &["`orchestrate approve T1 --only .env` puts it in"],
    )?;
    let ended = world
        .types(
            &["approve", "T1", "--only", ".env", "--json", "--follow"],
            0,
        )?
        .json()?;
    let result = at(&ended, "/integration_commit")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let files = [
        world.repository.show(&result, "one")?,
        world.repository.show(&result, ".env")?,
    ];
    assert_eq!(files, ["1", "PASSWORD=hunter2"]);
    Ok(())
}

fn a_part_is_merged_and_the_rest_goes_back() -> Outcome {
    let world = World::plain()?;
    let rest = || Rule::task("T1").returned(ReturnCause::Rest);
    let script = Script::default()
        .rule(
            rest()
                .call(
                    "write_file",
                    &json!({"path": "bad.txt", "content": "better\n"}),
                )
                .times(1),
        )
        .rule(write("T1", "src/good.txt", "good\n"))
        .rule(put(on("T1", 2), "bad.txt", "bad\n"))
        .rule(done("T1"));
    let played = world.play("- [ ] T1 two files\n", &script, |settings| {
        settings.run.merge = MergeMode::Review
    })?;
    let unknown = world
        .types(&["approve", "T1", "--only", "nothing.txt"], 2)?
        .stderr;
    require_words(&unknown, &["changes no such file", "orchestrate review T1"])?;
    let only = [
        "approve",
        "T1",
        "--only",
        "src",
        "-m",
        "Shorter, please.",
        "--json",
        "--follow",
    ];
    let waits = world.types(&only, 3)?.json()?;
    let integration = &played.report.run_id.integration_branch();
    let of_part = world.git(&format!("ls-tree -r --name-only {integration}"))?;
    assert!(of_part.contains("src/good.txt"), "{of_part}");
    assert!(!of_part.contains("bad.txt"), "{of_part}");
    let task = at(&waits, "/tasks/0")?;
    if (at(task, "/state")?, at(task, "/attempt")?) != (&json!("awaiting_review"), &json!(2)) {
        return fail(format!("{waits:#}"));
    }
    world.types(&["approve", "T1", "--follow"], 0)?;
    let merged = [
        world.repository.show(integration, "src/good.txt")?,
        world.repository.show(integration, "bad.txt")?,
    ];
    assert_eq!(merged, ["good", "better"]);
    Ok(())
}

/// The agent says that it is done, whatever goes back to it.
fn a_rest_of_which_nothing_is_made_is_told() -> Outcome {
    let world = World::plain()?;
    let script = Script::default()
        .rule(write("T1", "good.txt", "good\n"))
        .rule(put(on("T1", 2), "bad.txt", "bad\n").times(1))
        .rule(done("T1"));
    world.play("- [ ] T1 two files\n", &script, |settings| {
        settings.run.merge = MergeMode::Review
    })?;
    world.types(&["approve", "T1", "--only", "good.txt", "--follow"], 0)?;
    let landed = world.types(&["land"], 0)?;
    require_words(
        &landed.stderr,
        &["T1: its agent made nothing of what you did not take of its work"],
    )?;
    let kept = world.types(&["recover", "--json"], 0)?.json()?;
    for kept in kept["items"].as_array().into_iter().flatten() {
        let commit = at(kept, "/commit")?.as_str().unwrap_or_default();
        if world
            .git(&format!("ls-tree -r --name-only {commit}"))?
            .contains("bad.txt")
        {
            return Ok(());
        }
    }
    fail(format!("the rest is not kept: {kept:#}"))
}
