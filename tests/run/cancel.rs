//! Stopping runs and agents: no process survives, nothing is lost, and what was stopped continues
//! when resumed.

use std::fs::File;
use std::path::Path;

use libtest_mimic::Failed;
use orchestrate_coordinator::{ConfinementChoice, Layout, Run, Settings, ShutdownLevel};
use orchestrate_core::TaskState::{Cancelled, Merged};
use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::run::request::Request;
use orchestrate_core::task::FailureCause;
use orchestrate_core::{RunState, TaskState};
use orchestrate_journal::InboxId;
use orchestrate_sandbox::Confinement;

use crate::support::{
    Case, GRACE, Outcome, Played, Script, World, case, done, fail, is_alive, on, open_gate,
    plan_input, require_gone, runtime, seconds, shell, until, writes,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("cancel::a_stop_leaves_no_process_full", || {
            stop_leaves_no_process(Confinement::Full)
        })
        .in_tier(Confinement::Full),
        case("cancel::a_stop_leaves_no_process_fallback", || {
            stop_leaves_no_process(Confinement::Fallback)
        })
        .in_tier(Confinement::Fallback),
        case!(a_drain_lets_running_work_end),
        case!(a_timeout_leaves_no_process),
        case!(one_agent_stops_alone),
        case!(what_nobody_works_on_is_called_off),
    ]
}

/// Returns a command that sleeps in the foreground, in the background, and in a session of its own.
fn sleepers(seconds: &str) -> String {
    format!("echo half > half.txt; sleep {seconds} & setsid sleep {seconds} & sleep {seconds}")
}

/// A command that works until [`release`] lets it end.
const GATED: &str = "mkfifo gate; read line < gate; rm gate; echo half > half.txt";

/// Releases the first task's command, which waits at its gate. The returned file has to be kept
/// until the run has ended.
fn release(run: &Run, layout: &Layout) -> Result<Option<File>, Failed> {
    let folder = layout.worktree(run.id(), &"T1".into());
    until(GRACE, || Ok(folder.join("gate").exists().then_some(())))?;
    Ok(Some(open_gate(&folder)?))
}

fn sleeping(command: &str) -> Script {
    Script::default()
        .rule(shell(on("T1", 1), command))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n")
}

/// Starts a plan, waits until the state fits and the word is alive, acts, and waits for the end.
fn act_when(
    world: &World,
    (plan, script, word): (&str, &Script, &str),
    fits: impl FnMut(&std::sync::Arc<RunState>) -> bool,
    (change, act): (
        impl FnOnce(&mut Settings),
        impl FnOnce(&Run, &Layout) -> Result<Option<File>, Failed>,
    ),
) -> Result<Played, Failed> {
    let coordinator = world.coordinator(script, change)?;
    let report = runtime()?.block_on(async {
        let run = coordinator.start(plan_input(plan)?).await?;
        run.watch().wait_for(fits).await?;
        if !word.is_empty() {
            let word = word.to_owned();
            let seen = move || until(GRACE, || Ok(is_alive(&word)?.then_some(())));
            tokio::task::spawn_blocking(seen).await??;
        }
        let gate = act(&run, coordinator.layout())?;
        let report = run.wait().await?;
        drop(gate);
        Ok::<_, Failed>(report)
    })?;
    Played::of(coordinator, report)
}

fn calls(state: &RunState, task: &str) -> usize {
    state
        .task(&task.into())
        .map_or(0, |record| record.open_calls().len())
}

fn stop_leaves_no_process(confinement: Confinement) -> Outcome {
    let world = World::lived_in()?;
    let seconds = seconds(world.home.path(), 1);
    let (script, before) = (
        sleeping(&sleepers(&seconds)),
        world.repository.fingerprint()?,
    );
    let exactly =
        |settings: &mut Settings| settings.confinement = ConfinementChoice::Exactly(confinement);
    let stop = |run: &Run, _: &Layout| {
        run.raise(ShutdownLevel::Stop);
        Ok(None)
    };
    let plan = "- [ ] T1 slow\n";
    let played = act_when(
        &world,
        (plan, &script, &seconds),
        |state| calls(state, "T1") == 1,
        (exactly, stop),
    )?;
    require_gone(&seconds)?;
    played.require(130, &[("T1", TaskState::Ready)])?;
    before.require_same(&world.repository.fingerprint()?)?;
    let interrupted = played.pick(|event| match event {
        Event::ToolFinished { outcome, .. } => Some(*outcome),
        _ => None,
    });
    assert_eq!(interrupted, [ToolOutcome::Interrupted], "{played}");
    let run = played.report.run_id.clone();
    drop(played);
    let resumed = world.resume(&run, &script, exactly)?;
    resumed.require_merged(&["T1"])?;
    // What the stopped command had written is still there, and the first reply was not requested
    // again.
    let kept = world.merged(&resumed.report, "half.txt")? == "half";
    assert!(kept && resumed.report.tasks[0].turns == 3, "{resumed}");
    Ok(())
}

fn a_drain_lets_running_work_end() -> Outcome {
    let world = World::lived_in()?;
    let script = sleeping(GATED);
    let plan = "- [ ] T1 slow\n- [ ] T2 after (depends: T1)\n";
    let drain = |run: &Run, layout: &Layout| {
        run.raise(ShutdownLevel::Drain);
        release(run, layout)
    };
    let played = act_when(
        &world,
        (plan, &script, ""),
        |state| calls(state, "T1") == 1,
        (|_: &mut Settings| {}, drain),
    )?;
    played.require(130, &[("T1", Merged), ("T2", TaskState::Pending)])?;
    let run = played.report.run_id.clone();
    drop(played);
    world
        .resume(&run, &script, |_| {})?
        .require_merged(&["T1", "T2"])
}

fn a_timeout_leaves_no_process() -> Outcome {
    let world = World::lived_in()?;
    let seconds = seconds(world.home.path(), 2);
    let plan = "- [ ] T1 slow (timeout: 1s)\n";
    let played = world.play(plan, &sleeping(&sleepers(&seconds)), |_| {})?;
    require_gone(&seconds)?;
    played.require_failure("T1", FailureCause::Timeout, "exceeded the task")
}

fn stop_agent(run: &Run, agent: &str) -> Result<InboxId, Failed> {
    Ok(run.store().send(
        run.id(),
        &Request::StopAgent {
            agent: agent.into(),
            holder: None,
        },
    )?)
}

fn one_agent_stops_alone() -> Outcome {
    let world = World::lived_in()?;
    let seconds = seconds(world.home.path(), 3);
    let script = sleeping(&sleepers(&seconds));
    let plan = "- [ ] T1 slow\n- [ ] T2 quick\n";
    let nothing = |_: &mut Settings| {};
    let stop = |run: &Run, _: &Layout| stop_agent(run, "T1").map(|_| None);
    let played = act_when(
        &world,
        (plan, &script, &seconds),
        |state| calls(state, "T1") == 1,
        (nothing, stop),
    )?;
    require_gone(&seconds)?;
    played.require(0, &[("T1", Cancelled), ("T2", Merged)])?;
    if Path::new(
        &played
            .coordinator
            .layout()
            .worktree(&played.report.run_id, &"T1".into()),
    )
    .join("half.txt")
    .exists()
    {
        Ok(())
    } else {
        fail("the worktree of the stopped agent is gone")
    }
}

fn what_nobody_works_on_is_called_off() -> Outcome {
    let world = World::lived_in()?;
    let script = sleeping(GATED);
    let plan = "- [ ] T1 slow\n- [ ] T2 after (depends: T1)\n";
    let nothing = |_: &mut Settings| {};
    let stop = |run: &Run, layout: &Layout| {
        let sent = stop_agent(run, "T2")?;
        until(GRACE, || Ok(run.store().answer(sent)?))?.map_err(Failed::from)?;
        release(run, layout)
    };
    let played = act_when(
        &world,
        (plan, &script, ""),
        |state| calls(state, "T1") == 1,
        (nothing, stop),
    )?;
    played.require(0, &[("T1", Merged), ("T2", Cancelled)])
}
