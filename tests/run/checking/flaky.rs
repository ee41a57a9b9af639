//! Checks that fail and pass on one tree: nobody pays for them, and people are told.

use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_core::TaskState::Failed as FailedTask;
use orchestrate_core::event::{Event, VerifyScope};

use crate::support::{
    Case, Outcome, Played, Script, World, after, case, done, fail, plan_input, runtime, says,
    until, write, writes,
};

/// How long a check may take to start on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A check of a task's own that fails the first time, and passes from then on.
const ONCE_RED: &str = "test -e tried.log || { touch tried.log; echo error: not yet; exit 4; }";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_merged_tree_that_is_red_and_then_green_is_merged),
        case!(a_check_that_stays_red_is_tried_without_the_work_and_shown_in_full),
        case!(people_and_programs_are_told_of_a_flaky_check),
        case!(without_retries_a_red_check_counts_at_once),
    ]
}

/// Returns the results of the checks of one scope, in order.
fn results(played: &Played, of: VerifyScope) -> Vec<bool> {
    played.pick(|event| match event {
        Event::VerifyFinished { scope, passed, .. } if *scope == of => Some(*passed),
        _ => None,
    })
}

/// The check needs a file of the user's, which appears once it has failed.
fn a_merged_tree_that_is_red_and_then_green_is_merged() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".gitignore", "*.log\n")?;
    world.repository.write(".worktreeinclude", "go.log\n")?;
    let coordinator = world.coordinator(&Script::default(), |settings| {
        settings.run.verify = Some("test -e go.log".to_owned());
        settings.run.verify_retries = 100;
    })?;
    let is_red = |event: &Event| matches!(event, Event::VerifyFinished { passed: false, .. });
    let report = runtime()?.block_on(async {
        let run = coordinator
            .start(plan_input("- [ ] T1 one (run: touch one.txt)\n")?)
            .await?;
        let (store, id) = (coordinator.store().clone(), run.id().clone());
        let has_failed = move || {
            until(PATIENCE, || {
                let facts = store.events(&id, 0, usize::MAX)?;
                Ok(facts.iter().any(|fact| is_red(&fact.event)).then_some(()))
            })
        };
        tokio::task::spawn_blocking(has_failed).await??;
        world.repository.write("go.log", "\n")?;
        Ok::<_, Failed>(run.wait().await?)
    })?;
    let played = Played::of(coordinator, report)?;
    played.require_merged(&["T1"])?;
    let results = results(&played, VerifyScope::Run);
    let (last, red) = results.split_last().ok_or("no check ran")?;
    let announced = played
        .pick(|event| matches!(event, Event::CheckFlaky(_)).then_some(()))
        .len();
    let is_told = announced == 1 && played.report.flaky_checks.len() == 1;
    assert!(*last, "{results:?}\n{played}");
    assert!(!red.is_empty(), "{results:?}\n{played}");
    assert!(red.iter().all(|passed| !passed), "{results:?}\n{played}");
    assert!(is_told, "{results:?}\n{played}");
    Ok(())
}

fn a_check_that_stays_red_is_tried_without_the_work_and_shown_in_full() -> Outcome {
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n").turn(1))
        .rule(writes(after("T1", "check").times(1), "mended.txt"))
        .rule(done("T1"));
    let own = "echo try >> tries.log; cat tries.log; test -e mended.txt";
    let plan = format!("- [ ] T1 make it (verify: {own})\n");
    let played = World::lived_in()?.play(&plan, &script, |_| {})?;
    played.require_merged(&["T1"])?;
    played.require_told(
        "T1",
        &["[run 1 of 2 on the same tree: exit code 1]\ntry\n\n[run 2 of 2: exit code 1]\ntry\ntry"],
    )?;
    if results(&played, VerifyScope::Task) != [false, false, true] {
        return fail(played.story());
    }
    // The same of the merged tree, which has no file of an earlier try; without the work it is
    // green.
    let played = World::lived_in()?.play("- [ ] T1 make it\n", &script, |settings| {
        settings.run.verify = Some("test ! -e one.txt || test -e mended.txt".to_owned());
    })?;
    played.require_merged(&["T1"])?;
    played.require_told("T1", &["Without your work, the same check passes."])?;
    let (merged, without) = (
        results(&played, VerifyScope::Run),
        results(&played, VerifyScope::Target),
    );
    assert_eq!(merged, [false, false, true], "{played}");
    assert_eq!(without, [true], "{played}");
    Ok(())
}

fn people_and_programs_are_told_of_a_flaky_check() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".gitignore", "*.log\n")?;
    world.write(
        "plan.md",
        &format!("- [ ] T1 one (run: touch one.txt) (verify: {ONCE_RED})\n"),
    )?;
    let told = "T1: flaky check: `test -e tried.log || { touch tried.log; echo error: not yet; exit 4; }` has failed \
                (exit code 4) and passed on the same tree";
    let ran = world.types(&["run", &world.file("plan.md")], 0)?;
    let [progress, result] = [&ran.stderr, &ran.stdout];
    assert!(progress.contains(told), "{progress}\n---\n{result}");
    assert!(result.contains(told), "{progress}\n---\n{result}");
    says(&world.types(&["review"], 0)?, &[told])?;
    says(&world.types(&["review", "T1"], 0)?, &[told])?;
    let listed = world.types(&["review", "--json"], 0)?.json()?;
    let status = world.types(&["status", "--json"], 0)?.json()?;
    let of_task = &listed["items"][0]["flaky_checks"][0];
    let of_run = &status["flaky_checks"][0];
    assert_eq!(of_task["exit"], "exit code 4", "{listed}\n{status}");
    assert_eq!(of_task, of_run, "{listed}\n{status}");
    Ok(())
}

fn without_retries_a_red_check_counts_at_once() -> Outcome {
    let plan = format!(
        "---\nverify_retries: 0\n---\n- [ ] T1 one (run: touch one.txt) (verify: {ONCE_RED})\n"
    );
    let world = World::plain()?;
    world.repository.write(".gitignore", "*.log\n")?;
    world.write("plan.md", &plan)?;
    let ran = world.types(&["run", &world.file("plan.md")], 1)?;
    says(&ran, &["T1: check FAILED (exit code 4)", "error: not yet"])?;
    // The control: the flag of the command line decides, and the same check passes the second time.
    world.types(&["run", &world.file("plan.md"), "--verify-retries", "1"], 0)?;
    let played = World::lived_in()?.play(
        "- [ ] T1 one (run: touch one.txt)\n",
        &Script::default(),
        |settings| {
            settings.run.verify = Some("exit 3".to_owned());
            settings.run.verify_retries = 0;
        },
    )?;
    played.require(1, &[("T1", FailedTask)])?;
    let tries = (
        results(&played, VerifyScope::Run).len(),
        results(&played, VerifyScope::Target).len(),
    );
    assert_eq!(tries, (1, 0), "{played}");
    Ok(())
}
