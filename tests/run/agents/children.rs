//! The library's API: children spawned from a program, messages to them, their merging, and the
//! examples.

use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::{
    Archive, Cancel, ChildSpec, CleanOptions, CoordinatorError, LandOptions, Settings,
};
use orchestrate_core::TaskState::{
    AwaitingReview, Cancelled, Failed as FailedTask, Merged, NothingToDo,
};
use orchestrate_core::event::Event;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{
    Case, Outcome, Rule, Script, World, after, case, fail, on, put, runtime, shell, workspace_cargo,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(are_spawned_waited_for_and_merged),
        case!(tell_what_happens_to_them),
        case!(read_what_they_are_sent),
        case!(can_be_cancelled),
        case!(number_each_message_for_its_sender),
        case!(of_a_run_that_breaks_off_say_so),
        case!(that_are_still_held_lock_nothing),
        case("children::example_spawn_children_runs", || {
            example("spawn_children", "2 children merged")
        }),
        case("children::example_tree_runs", || {
            example(
                "tree",
                "texts asks: In which language?\n  texts: merged\n    write_greeting_txt: merged\n    write_farewell_txt",
            )
        }),
        case("children::example_land_children_runs", || {
            example(
                "land_children",
                "the reader answers: It is a sample.\nmain has the greeting: Hello!",
            )
        }),
        case!(with_a_relative_state_folder_land_and_are_cleaned),
        case("children::example_custom_tool_runs", || {
            example("custom_tool", "count got \"3 words\"")
        }),
        case("children::example_review_branches_runs", || {
            example("review_branches", "approved")
        }),
    ]
}

/// How long a caller that waits for a run that has ended may take to be notified.
const PATIENCE: Duration = Duration::from_secs(60);

fn child(id: &str) -> ChildSpec {
    ChildSpec {
        id: Some(id.into()),
        ..ChildSpec::new(format!("write {id}"))
    }
}

fn two() -> Script {
    ["a", "b"]
        .into_iter()
        .fold(Script::default(), |script, id| {
            script.writes(id, &format!("{id}.txt"), &format!("{id}\n"))
        })
}

fn are_spawned_waited_for_and_merged() -> Outcome {
    let world = World::lived_in()?;
    let before = world.repository.fingerprint()?;
    let script = two()
        .rule(Rule::task("c").text("I changed nothing."))
        .rule(Rule::task("d").text("It has two files."));
    let coordinator = world.coordinator(&script, |_| {})?;
    let report = runtime()?.block_on(async {
        let (a, b) = (
            coordinator.spawn(child("a")).await?,
            coordinator.spawn(child("b")).await?,
        );
        let role = Some("implementer".to_owned());
        let (c, d) = (ChildSpec { role, ..child("c") }, child("d"));
        let (c, d) = (coordinator.spawn(c).await?, coordinator.spawn(d).await?);
        let waited = [
            a.wait().await?.state,
            b.wait().await?.state,
            c.wait().await?.state,
        ];
        assert_eq!(waited, [AwaitingReview, AwaitingReview, FailedTask]);
        let merged = coordinator.merge(&[b, a, c, d]).await?;
        let states: Vec<_> = merged
            .iter()
            .map(|task| (task.id.as_str(), task.state))
            .collect();
        // Nobody has given the last one a role that must change files, so its answer is its result.
        assert_eq!(
            states,
            [
                ("b", Merged),
                ("a", Merged),
                ("c", FailedTask),
                ("d", NothingToDo)
            ],
            "{merged:#?}"
        );
        let answer = merged
            .last()
            .and_then(|task| task.hand_back.as_ref())
            .map(|handed| handed.summary.as_str());
        assert_eq!(answer, Some("It has two files."));
        let Some(report) = coordinator.finish().await? else {
            return fail("no run was open");
        };
        Ok::<_, Failed>(report)
    })?;
    before.require_same(&world.repository.fingerprint()?)?;
    for id in ["a", "b"] {
        if world.merged(&report, &format!("{id}.txt"))? != id {
            return fail(format!("{id}.txt is not merged"));
        }
    }
    assert_eq!(report.exit_code, Some(1), "{report:#?}");
    Ok(())
}

fn tell_what_happens_to_them() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&two(), |_| {})?;
    runtime()?.block_on(async {
        let (a, b) = (
            coordinator.spawn(child("a")).await?,
            coordinator.spawn(child("b")).await?,
        );
        let mut events = a.events();
        coordinator.merge(&[a, b]).await?;
        coordinator.finish().await?;
        let mut kinds = Vec::new();
        while let Some(fact) = events.recv().await {
            assert!(
                fact.event.task().is_none_or(|task| task.as_str() == "a"),
                "{fact:?}"
            );
            kinds.push(json!(fact.event)["type"].clone());
        }
        let has = |kind: &str| kinds.contains(&json!(kind));
        if kinds.first() == Some(&json!("task.added")) && has("tool.finished") && has("task.merged")
        {
            return Ok(());
        }
        fail(format!("{kinds:?}"))
    })
}

fn read_what_they_are_sent() -> Outcome {
    let world = World::lived_in()?;
    let script = Script::default()
        .rule(put(
            after("a", "\nuse port 4711\n</data-"),
            "port.txt",
            "4711\n",
        ))
        .rule(after("a", "port.txt").text("Done."));
    let script = (1..=90).fold(script, |script, turn| {
        let look = json!({"command": format!("sleep 0.02; echo look {turn}")});
        script.rule(on("a", turn).call("run_shell_command", &look))
    });
    let coordinator = world.coordinator(&script, |settings| settings.run.max_turns = 100)?;
    let report = runtime()?.block_on(async {
        let a = coordinator.spawn(child("a")).await?;
        if a.send("use port 4711").await? != 1 {
            return fail("the first message is not number 1");
        }
        coordinator.merge(std::slice::from_ref(&a)).await?;
        assert!(
            a.send("too late").await.is_err(),
            "a child that has ended takes a message"
        );
        let Some(report) = coordinator.finish().await? else {
            return fail("no run was open");
        };
        Ok::<_, Failed>(report)
    })?;
    assert_eq!(
        world.merged(&report, "port.txt")?,
        "4711",
        "the message was not read"
    );
    Ok(())
}

fn can_be_cancelled() -> Outcome {
    let world = World::lived_in()?;
    let slow = shell(on("slow", 1), "sleep 60");
    let script = two().rule(slow);
    let coordinator = world.coordinator(&script, |_| {})?;
    runtime()?.block_on(async {
        let (slow, a) = (
            coordinator.spawn(child("slow")).await?,
            coordinator.spawn(child("a")).await?,
        );
        // A child of the slow one ends with it, although its own agent has finished.
        let below = ChildSpec {
            parent: Some("slow".into()),
            ..child("b")
        };
        let below = coordinator.spawn(below).await?;
        below.wait().await?;
        let mut events = slow.events();
        while let Some(fact) = events.recv().await {
            if matches!(fact.event, Event::ToolStarted { .. }) {
                break;
            }
        }
        slow.cancel()?;
        let ended = slow.wait().await?.state;
        assert_eq!(ended, Cancelled);
        let mut events = below.events();
        while let Some(fact) = events.recv().await {
            if matches!(fact.event, Event::TaskCancelled { .. }) {
                break;
            }
        }
        coordinator.merge(&[a]).await?;
        let Some(report) = coordinator.finish().await? else {
            return fail("no run was open");
        };
        assert_eq!(report.exit_code, Some(0), "{report:#?}");
        Ok(())
    })
}

/// Messages that are sent at the same moment have different numbers, which their senders receive.
fn number_each_message_for_its_sender() -> Outcome {
    let world = World::lived_in()?;
    let slow = shell(on("slow", 1), "sleep 600");
    let coordinator = world.coordinator(&Script::default().rule(slow), |_| {})?;
    runtime()?.block_on(async {
        let slow = coordinator.spawn(child("slow")).await?;
        let mut sending = JoinSet::new();
        for text in 1..=32 {
            let slow = slow.clone();
            sending.spawn(async move { slow.send(format!("message {text}")).await });
        }
        let mut numbers = sending
            .join_all()
            .await
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=32).collect::<Vec<_>>());
        slow.cancel()?;
        coordinator.finish().await?;
        Ok(())
    })
}

/// Callers that wait when the dispatcher ends with an error are notified, and `finish` returns that
/// error.
fn of_a_run_that_breaks_off_say_so() -> Outcome {
    let world = World::lived_in()?;
    let slow = shell(on("slow", 1), "sleep 600");
    let coordinator = world.coordinator(&two().rule(slow), |_| {})?;
    let told = async {
        let (slow, a) = (
            coordinator.spawn(child("slow")).await?,
            coordinator.spawn(child("a")).await?,
        );
        let b = coordinator.spawn(child("b")).await?;
        a.wait().await?;
        b.wait().await?;
        // Another process commits on the integration branch, so the run may no longer move it.
        let strange = world.git("commit-tree -m mine HEAD^{tree}")?;
        let run = &coordinator.store().runs()?[0].run_id;
        world
            .repository
            .git(&["update-ref", &run.integration_ref(), strange.trim()])?;
        let (mut events, merging, waiting) = (slow.events(), [a, b], slow.wait());
        let merged = coordinator.merge(&merging).await;
        let waited = waiting.await;
        while events.recv().await.is_some() {}
        for outcome in [
            merged.map(drop),
            waited.map(drop),
            coordinator.spawn(child("c")).await.map(drop),
        ] {
            let Err(CoordinatorError::Stopped { reason, .. }) = outcome else {
                return fail(format!("{outcome:?}"));
            };
            assert!(reason.contains("another process has moved it"), "{reason}");
        }
        match coordinator.finish().await {
            Err(CoordinatorError::BranchMoved { .. }) => Ok::<_, Failed>(()),
            other => fail(format!("{other:?}")),
        }
    };
    runtime()?.block_on(async { tokio::time::timeout(PATIENCE, told).await })?
}

/// Handles that a program keeps do not hold a run: its end releases the lease, and what was
/// recorded can still be read.
fn that_are_still_held_lock_nothing() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&two(), |_| {})?;
    runtime()?.block_on(async {
        let a = coordinator.spawn(child("a")).await?;
        let mut events = a.events();
        coordinator.merge(std::slice::from_ref(&a)).await?;
        let Some(report) = coordinator.finish().await? else {
            return fail("no run was open");
        };
        coordinator.resume(&report.run_id).await?.wait().await?;
        let cancelled = a.cancel();
        let commands = coordinator.store().open_requests(&report.run_id)?;
        assert!(
            matches!(cancelled, Err(CoordinatorError::Ended(_))) && commands.is_empty(),
            "whoever takes the run over would cancel a child: {commands:?}"
        );
        assert!(
            events.recv().await.is_some() && a.wait().await?.state == Merged,
            "what was recorded cannot be read any more"
        );
        Ok(())
    })
}

/// A path that counts from the current folder serves git in every other folder too; and all of it
/// is called in async code.
fn with_a_relative_state_folder_land_and_are_cleaned() -> Outcome {
    let world = World::plain()?;
    let state = relative_to_here(&world.home.state())?;
    let settings = |state: &Path| Settings::new(state);
    let coordinator =
        world.coordinator(&two(), |settings| settings.state_dir.clone_from(&state))?;
    runtime()?.block_on(async {
        let (a, b) = (
            coordinator.spawn(child("a")).await?,
            coordinator.spawn(child("b")).await?,
        );
        coordinator.merge(&[a, b]).await?;
        let Some(report) = coordinator.finish().await? else {
            return fail("no run was open");
        };
        drop(coordinator);
        let runs = Archive::open(world.repository.path(), settings(&state))?;
        let options = LandOptions::default();
        let landed = runs.land(&report.run_id, &options).await?;
        runs.unland(&report.run_id, &options).await?;
        let dropped = runs
            .drop_task(&report.run_id, &"b".into(), false, &Cancel::new())
            .await?;
        runs.clean(&report.run_id, CleanOptions::default()).await?;
        let again = runs.land(&report.run_id, &options).await?;
        let files = world.git("ls-tree --name-only HEAD")?;
        let is_right = landed.to == report.integration_commit && again.to == dropped.result;
        assert!(is_right, "{files}");
        assert!(files.contains("a.txt"), "{files}");
        assert!(!files.contains("b.txt"), "{files}");
        Ok(())
    })
}

/// Returns a path as it counts from this process's folder.
fn relative_to_here(path: &Path) -> Result<PathBuf, Failed> {
    let up = std::env::current_dir()?
        .components()
        .skip(1)
        .map(|_| "..")
        .collect::<PathBuf>();
    Ok(up.join(path.strip_prefix("/")?))
}

/// Runs an example as a new user does; it needs no key, and creates its own sample.
fn example(name: &str, says: &str) -> Outcome {
    let ran = workspace_cargo(&["run", "-q", "--offline", "--example", name]).output()?;
    let (out, err) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success() && out.contains(says), "{out}\n{err}");
    Ok(())
}
