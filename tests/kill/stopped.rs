//! Other ways in which a run is stopped, and what a stopped run can meet: shell commands, a second
//! coordinator, changes by hand, full disks.

use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_core::agent::agent_loop::INTERRUPTED;
use orchestrate_core::event::{Event, ToolOutcome};
use rustix::process::Signal;
use serde_json::json;

use super::plays::{self, Play};
use super::scene::{Deed, FAILED, KILLED, Scene};
use super::{End, LONG_FORM, NO_FAULT, Reference, two_agents};
use crate::support::{Case, Outcome, Rule, Script, case, fail, on, there_is, until};

/// How long a process of a killed run may outlive it.
const LAST_BREATH: Duration = Duration::from_secs(60);
/// How long a coordinator may take to reach its first command on a loaded machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// The fault at an append of the reference run at which T1 is merged and T2 is working.
const MIDDLE: &str = "after:90";

pub(super) fn cases() -> Vec<Case> {
    vec![
        case!(
            "kill",
            a_command_dies_with_its_coordinator_and_is_reported_as_interrupted
        ),
        case!("kill", a_command_that_was_interrupted_names_what_it_changed),
        case!(
            "kill",
            a_command_of_the_plan_is_reported_as_interrupted_and_runs_again
        ),
        case!("kill", a_worktree_deleted_by_hand_is_made_again),
        case!("kill", a_half_written_file_is_not_committed),
        case!("kill", a_moved_integration_branch_is_refused),
        case!("kill", a_deletion_that_was_interrupted_is_a_recorded_one),
        case!("kill", the_temporary_folder_is_left_empty),
        case!("kill", a_full_disk_loses_nothing),
    ]
}

/// Returns a number of seconds that no other process on this machine sleeps.
fn seconds() -> String {
    format!("3600.{}", std::process::id())
}

fn sleeping_play() -> Play {
    let command = format!("sleep {0} & setsid sleep {0} & sleep {0}", seconds());
    let one = || Rule::task("T1");
    let script = Script::default()
        .rule(one().last_contains(INTERRUPTED).call(
            "write_file",
            &json!({"path": "woken.txt", "content": "1\n"}),
        ))
        .rule(one().last_contains("woken.txt").text("Done."))
        .rule(one().call("run_shell_command", &json!({ "command": command })));
    Play::of("- [ ] T1 sleep\n", script)
}

/// Returns the processes that sleep for [`seconds`].
fn sleepers() -> Result<Vec<String>, Failed> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        // A process may end while we look at it.
        let Ok(bytes) = std::fs::read(entry?.path().join("cmdline")) else {
            continue;
        };
        let line = String::from_utf8_lossy(&bytes).replace('\0', " ");
        if line.contains(&seconds()) {
            found.push(line);
        }
    }
    Ok(found)
}

fn a_command_dies_with_its_coordinator_and_is_reported_as_interrupted() -> Outcome {
    let scene = Scene::of(&sleeping_play())?;
    let first = scene.start(NO_FAULT)?;
    until(PATIENCE, || {
        Ok((sleepers()?
            .iter()
            .filter(|line| line.starts_with("sleep"))
            .count()
            == 3)
            .then_some(()))
    })?;

    let second = scene.coordinate(NO_FAULT)?.exits(FAILED)?;
    assert!(
        second
            .stderr
            .contains(&format!("process {} works on it", first.pid())),
        "{}",
        second.stderr
    );

    first.signal(Signal::KILL)?;
    until(LAST_BREATH, || Ok(sleepers()?.is_empty().then_some(())))?;
    first.end()?.exits(KILLED)?;

    scene.coordinate(NO_FAULT)?.exits(0)?;
    scene.require_untouched()?;
    require_interrupted_once(&scene)
}

/// The agent goes on only if it is told what the command had changed; otherwise it would wait for
/// ever.
fn a_command_that_was_interrupted_names_what_it_changed() -> Outcome {
    let one = || Rule::task("T1");
    let command = format!("echo half > half.txt; sleep {}", seconds());
    let told = "after changes of half.txt; `git_checkout` with `";
    let script = Script::default()
        .rule(one().last_contains(told).call(
            "write_file",
            &json!({"path": "woken.txt", "content": "1\n"}),
        ))
        .rule(one().last_contains("woken.txt").text("Done."))
        .rule(one().call("run_shell_command", &json!({ "command": command })));
    let scene = Scene::of(&Play::of("- [ ] T1 sleep\n", script))?;
    let first = scene.start(NO_FAULT)?;
    until(PATIENCE, || {
        Ok(scene
            .worktree("T1")
            .is_ok_and(|path| path.join("half.txt").exists())
            .then_some(()))
    })?;
    first.signal(Signal::KILL)?;
    first.end()?.exits(KILLED)?;
    scene.coordinate(NO_FAULT)?.exits(0)?;
    require_interrupted_once(&scene)
}

/// Requires that one call was interrupted, and the next one was not.
fn require_interrupted_once(scene: &Scene) -> Outcome {
    let ends = scene.events()?.into_iter().filter_map(|event| match event {
        Event::ToolFinished { outcome, .. } => Some(outcome),
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends, [ToolOutcome::Interrupted, ToolOutcome::Ok]);
    Ok(())
}

/// The command writes a file, then waits for another one among the repository's objects, which it
/// can see.
fn a_command_of_the_plan_is_reported_as_interrupted_and_runs_again() -> Outcome {
    let plan = concat!(
        "- [ ] T1 wait (run: echo 1 >> log.txt; until ",
        there_is!("go"),
        "; do sleep 0.05; done)\n"
    );
    let scene = Scene::of(&Play::of(plan, Script::default()))?;
    let first = scene.start(NO_FAULT)?;
    until(PATIENCE, || {
        Ok(scene
            .worktree("T1")
            .is_ok_and(|path| path.join("log.txt").exists())
            .then_some(()))
    })?;
    first.signal(Signal::KILL)?;
    first.end()?.exits(KILLED)?;

    std::fs::write(scene.world.repository.path().join(".git/objects/go"), "")?;
    let end = End::of(&scene, &scene.coordinate(NO_FAULT)?.exits(0)?.stdout)?;
    scene.require_untouched()?;
    let commit = scene
        .world
        .repository
        .git(&["rev-parse", scene.run()?.integration_branch().as_str()])?;
    if scene.world.repository.show(&commit, "log.txt")? != "1" {
        return fail(format!("{end:#?}"));
    }
    require_interrupted_once(&scene)
}

/// Returns the reference run, and a scene for another run of the same plan.
fn of_two_agents() -> Result<(&'static Reference, Scene), Failed> {
    let reference = two_agents()?;
    Ok((reference, Scene::of(&reference.play)?))
}

/// Kills a run of two agents in the middle, lets something happen, resumes the run, and compares
/// its end with the reference run's.
fn meanwhile(happens: impl FnOnce(&Scene) -> Outcome) -> Outcome {
    let (reference, scene) = of_two_agents()?;
    scene.coordinate(MIDDLE)?.exits(KILLED)?;
    happens(&scene)?;
    let ran = scene.coordinate(NO_FAULT)?.exits(0)?;
    reference.require_same(&scene, &ran.stdout, 1)
}

/// Work that was not committed is lost with the folder, so the files are not compared, only the
/// report.
fn a_worktree_deleted_by_hand_is_made_again() -> Outcome {
    let (reference, scene) = of_two_agents()?;
    scene.coordinate(MIDDLE)?.exits(KILLED)?;
    let place = scene.worktree("T2")?;
    std::fs::remove_dir_all(&place)?;
    // The control: nobody else makes it again, so what works in it fails until the run is resumed.
    let is_usable = || {
        scene
            .world
            .git(&format!("-C {} status", place.display()))
            .is_ok()
    };
    assert!(
        !is_usable(),
        "the worktree is there although it was deleted"
    );
    let ran = scene.coordinate(NO_FAULT)?.exits(0)?;
    // It has gone a second time since, once its work was merged.
    let is_gone =
        |event: &&Event| matches!(event, Event::WorktreeRemoved { task } if task.as_str() == "T2");
    if scene.events()?.iter().filter(is_gone).count() != 2 {
        return fail("the worktree was not made again");
    }
    scene.require_untouched()?;
    reference.require_same_report(&scene, &ran.stdout)
}

/// The same text lies beside it, under a name that no tool gives to a file that it is about to
/// rename.
fn a_half_written_file_is_not_committed() -> Outcome {
    let (reference, scene) = of_two_agents()?;
    scene.coordinate(MIDDLE)?.exits(KILLED)?;
    let folder = scene.worktree("T2")?.join("src");
    let half = format!("{}1-1", orchestrate_tools::TEMPORARY_PREFIX);
    for name in [half.as_str(), "twin.txt"] {
        std::fs::write(folder.join(name), "half")?;
    }
    let mut end = End::of(&scene, &scene.coordinate(NO_FAULT)?.exits(0)?.stdout)?;
    // The control: the twin is committed with the agent's work, as the half-written file would be.
    let Some((files, twin)) = end.files.split_once("diff --git a/src/twin.txt ") else {
        return fail(format!("the control is not committed:\n{end}"));
    };
    assert!(
        twin.contains("\n+half\n") && !twin.contains("diff --git "),
        "the twin is not the last file, or another one:\n{end}"
    );
    end.files = files.trim_end_matches('\n').to_owned();
    reference.require_same_end(&scene, &end, 1)
}

fn a_moved_integration_branch_is_refused() -> Outcome {
    meanwhile(|scene| {
        let (repository, reference) = (&scene.world.repository, scene.run()?.integration_ref());
        let left = scene.store()?.state(&scene.run()?)?.integration.to_string();
        // The kill may have left git's lock on the branch. A user who moves the branch removes it
        // first, as git says.
        let _ = std::fs::remove_file(
            repository
                .path()
                .join(".git")
                .join(format!("{reference}.lock")),
        );
        let tree = format!("{left}^{{tree}}");
        let moved =
            repository.git(&["commit-tree", &tree, "-p", &left, "-m", "Somebody else's"])?;
        repository.git(&["update-ref", &reference, &moved])?;
        let refused = scene.coordinate(NO_FAULT)?.exits(FAILED)?;
        let told = [format!("the run left it at {left}"), moved.clone()];
        if !told.iter().all(|part| refused.stderr.contains(part)) {
            return fail(refused.stderr);
        }
        if repository.git(&["rev-parse", &reference])? != moved {
            return fail("the branch was moved back without being asked");
        }
        repository.git(&["update-ref", &reference, &left]).map(drop)
    })
}

fn a_full_disk_loses_nothing() -> Outcome {
    // Consecutive appends belong to one turn: the request, the reply, the start of the call, its
    // end.
    let all = std::env::var(LONG_FORM).is_ok_and(|wanted| wanted == "all");
    let faults: &[&str] = if all {
        &[
            "full:1",
            "full:12",
            "full:90",
            "full:91",
            "full:92",
            "full:93",
            "full:94..",
            "full:130",
        ]
    } else {
        &["full:1", "full:91", "full:94.."]
    };
    faults.iter().try_for_each(|fault| {
        let (reference, scene) = of_two_agents()?;
        let failed = scene.coordinate(fault)?.exits(FAILED)?;
        if !failed.stderr.contains("the disk is full") {
            return fail(format!("{fault}: {}", failed.stderr));
        }
        // The control: with room for the same append, the same run goes on to the end of one that
        // was never stopped.
        let ran = scene.coordinate(NO_FAULT)?.exits(0)?;
        let same = reference.require_same(&scene, &ran.stdout, 1);
        same.map_err(|failure| {
            Failed::from(format!(
                "{fault}: {}",
                failure.message().unwrap_or_default()
            ))
        })
    })
}

/// The shell deletes two of four files, and a call whose end was not recorded deletes a third. The
/// work must not be returned as an accidental deletion.
fn a_deletion_that_was_interrupted_is_a_recorded_one() -> Outcome {
    let one = |turn| on("T1", turn);
    let script = Script::default()
        .rule(one(1).call(
            "run_shell_command",
            &json!({"command": "rm README.md .gitignore"}),
        ))
        .rule(one(2).call("read_file", &json!({"path": "kept.txt"})))
        .rule(one(3).call("delete_file", &json!({"path": "kept.txt"})))
        .rule(Rule::task("T1").text("Done."));
    let play = Play::of("- [ ] T1 remove\n", script);
    let is_end =
        |event: &Event| matches!(event, Event::ToolFinished { tool, .. } if tool == "delete_file");
    let whole = Scene::of(&play)?;
    whole.coordinate(NO_FAULT)?.exits(0)?;
    let end = whole
        .events()?
        .iter()
        .position(is_end)
        .ok_or_else(|| Failed::from("nothing was deleted"))?;
    // One append may contain several facts, so it is this one or one of those before it.
    for append in (1..=end + 1).rev() {
        let scene = Scene::of(&play)?;
        scene
            .coordinate(&format!("before:{append}"))?
            .exits(KILLED)?;
        if scene.events()?.iter().any(is_end) || scene.worktree("T1")?.join("kept.txt").exists() {
            continue;
        }
        scene.coordinate(NO_FAULT)?.exits(0)?;
        let returned = scene
            .events()?
            .into_iter()
            .find(|event| matches!(event, Event::TaskReturned { .. }));
        return returned.map_or(Ok(()), |event| fail(format!("{event:?}")));
    }
    fail("no kill came between the deletion and its record")
}

/// The folder that exists at first is what a run leaves that is killed while git merges.
fn the_temporary_folder_is_left_empty() -> Outcome {
    let scene = Scene::of(&plays::commands())?;
    let folder = scene.world.home.path().join("temporary");
    for left in [
        "orchestrate-scratch-1a2b3c/refs/heads",
        "orchestrate-job-1a2b3c/.cargo",
    ] {
        std::fs::create_dir_all(folder.join(left))?;
    }
    let coordinate = |fault| scene.child(Deed::Run, fault)?.env("TMPDIR", &folder).run();
    coordinate("after:9")?.exits(KILLED)?;
    coordinate(NO_FAULT)?.exits(0)?;
    let left = std::fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}
