//! What the check of a merged tree finds of earlier checks: only files that a passed check left, of
//! a tree that became the result.

use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::{ConfinementChoice, Settings, ShutdownLevel};
use orchestrate_core::TaskState::{Failed as FailedTask, Verified};
use orchestrate_core::event::{Event, VerifyScope};
use orchestrate_sandbox::Confinement;

use crate::support::{Case, Outcome, Played, Script, World, case, plan_input, runtime, until};

/// How long a check may take to start on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two commands; the first task is merged first.
const PLAN: &str = "- [ ] T1 one (run: touch one.txt)\n- [ ] T2 two (run: touch two.txt)\n";

pub(crate) fn cases() -> Vec<Case> {
    let in_tier = |word, tier| {
        let name = format!("verifier::what_a_failed_check_left_helps_no_other_{word}");
        case(name, move || what_a_failed_check_left(tier)).in_tier(tier)
    };
    vec![
        in_tier("full", Confinement::Full),
        in_tier("fallback", Confinement::Fallback),
        case!(what_a_passed_check_left_is_there_for_the_next),
        case!(what_a_stopped_check_left_is_gone),
        case!(what_a_check_of_another_result_left_is_gone),
        case!(a_file_of_the_users_is_as_it_is_now),
    ]
}

fn check(settings: &mut Settings, command: &str) {
    settings.run.verify = Some(command.to_owned());
    settings.run.merge_rounds = 0;
    settings.run.max_agents = 1;
}

/// Returns what each check of a merged tree printed, in order.
fn printed(played: &Played) -> Result<Vec<String>, Failed> {
    let outputs = played.pick(|event| match event {
        Event::VerifyFinished {
            scope: VerifyScope::Run,
            output,
            ..
        } => Some(output),
        _ => None,
    });
    outputs
        .into_iter()
        .map(|output| played.text(output))
        .collect()
}

/// The check of the first task's tree fails and leaves a file that git ignores; the second's would
/// pass with that file.
fn what_a_failed_check_left(tier: Confinement) -> Outcome {
    let command = "if test -e one.txt; then touch left.log; exit 1; fi; test ! -e two.txt || test -e left.log";
    let played = World::lived_in()?.play(PLAN, &Script::default(), |settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
        check(settings, command);
    })?;
    played.require(1, &[("T1", FailedTask), ("T2", FailedTask)])
}

/// Build caches stay warm: the second check finds what the first has built.
fn what_a_passed_check_left_is_there_for_the_next() -> Outcome {
    let command = "echo built >> left.log; cat left.log";
    let played = World::lived_in()?.play(PLAN, &Script::default(), |settings| {
        check(settings, command)
    })?;
    played.require_merged(&["T1", "T2"])?;
    let printed = printed(&played)?;
    assert_eq!(printed, ["built\n", "built\nbuilt\n"]);
    Ok(())
}

/// Files that a stopped check left are not kept: they could let the same tree pass.
fn what_a_stopped_check_left_is_gone() -> Outcome {
    let world = World::lived_in()?;
    let command =
        "test ! -e left.log || exit 0; touch left.log; test ! -e wanted.log || exit 1; sleep 600";
    let change = |settings: &mut Settings| check(settings, command);
    let plan = "- [ ] T1 one (run: touch one.txt)\n";
    let coordinator = world.coordinator(&Script::default(), change)?;
    let report = runtime()?.block_on(async {
        let run = coordinator.start(plan_input(plan)?).await?;
        let left = coordinator.layout().verifier(run.id()).join("left.log");
        let begun = move || until(PATIENCE, || Ok(left.exists().then_some(())));
        tokio::task::spawn_blocking(begun).await??;
        run.raise(ShutdownLevel::Stop);
        Ok::<_, Failed>(run.wait().await?)
    })?;
    let stopped = Played::of(coordinator, report)?;
    stopped.require(130, &[("T1", Verified)])?;
    let run = stopped.report.run_id.clone();
    drop(stopped);
    // Every worktree created from now on gets this file, by which the check recognises a new
    // worktree.
    world.repository.write(".worktreeinclude", "wanted.log\n")?;
    world.repository.write("wanted.log", "wanted\n")?;
    world
        .resume(&run, &Script::default(), change)?
        .require(1, &[("T1", FailedTask)])
}

/// The check of a landing passes, and the landing is refused: what the check left belongs to a tree
/// that was discarded.
fn what_a_check_of_another_result_left_is_gone() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".gitignore", "*.log\n")?;
    world
        .repository
        .write("plan.md", "- [ ] T1 one (run: touch one.txt)\n")?;
    world.repository.commit_all("Plan")?;
    let command =
        "test ! -e first.txt || touch left.log; test ! -e second.txt || test ! -e left.log";
    world.types(&["run", "plan.md", "--verify", command], 0)?;
    world.commit("first.txt", "1\n")?;
    world.repository.write("one.txt", "mine\n")?;
    let refused = world.types(&["land"], 3)?;
    let verifier = world.repository.worktree("+verifier")?;
    assert!(
        verifier.join("left.log").exists(),
        "nothing was checked before it was refused: {}",
        refused.stderr
    );
    std::fs::remove_file(world.repository.path().join("one.txt"))?;
    world.git("reset -q --hard HEAD~1")?;
    world.commit("second.txt", "2\n")?;
    world.types(&["land"], 0).map(drop)
}

/// A passed check leaves the copies of ignored files, of which the user has changed one since: the
/// next check must not pass, and be remembered for the changed file, with the old one.
fn a_file_of_the_users_is_as_it_is_now() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".gitignore", "*.log\n")?;
    world.repository.write(".worktreeinclude", "local.log\n")?;
    world.repository.write("local.log", "old\n")?;
    world
        .repository
        .write("plan.md", "- [ ] T1 one (run: touch one.txt)\n")?;
    world.repository.commit_all("Plan")?;
    world.types(
        &[
            "run",
            "plan.md",
            "--verify",
            "test ! -e mine.txt || grep new local.log",
        ],
        0,
    )?;
    world.commit("mine.txt", "mine\n")?;
    world.repository.write("local.log", "new\n")?;
    world.types(&["land"], 0).map(drop)
}
