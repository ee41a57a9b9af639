//! The base of a run has to pass the run's check before any agent starts; where it has passed
//! before, nothing is run.

use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::{
    ChildSpec, ConfinementChoice, CoordinatorError, Settings, ShutdownLevel,
};
use orchestrate_core::TaskState::{Failed as FailedTask, Ready};
use orchestrate_core::event::Event;
use orchestrate_core::task::FailureCause;
use orchestrate_sandbox::Confinement;
use serde_json::json;

use crate::support::{
    Case, Outcome, Played, Script, World, case, fail, plan_input, runtime, says, until, write,
};

/// How long a check may take to start on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A check that passes once the agent has done its work, and says what is wrong before.
const RED_BEFORE: &str = "test -e made.txt || { echo 'error: made.txt is missing'; exit 3; }";
/// The plan of one agent, and of one command.
const PLAN: &str = "- [ ] T1 make it\n";
const COMMAND: &str = "- [ ] T1 one (run: touch one.txt)\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_red_base_spends_no_request),
        case!(a_red_base_is_not_verified_on_request),
        case!(a_red_base_is_an_error_for_programs),
        case!(children_do_not_wait_for_a_red_base),
        case("base::a_refused_socket_names_the_tier_full", || {
            refused_socket(Confinement::Full)
        })
        .in_tier(Confinement::Full),
        case("base::a_refused_socket_names_the_tier_fallback", || {
            refused_socket(Confinement::Fallback)
        })
        .in_tier(Confinement::Fallback),
        case!(a_red_setup_is_a_red_base),
        case!(a_green_base_is_verified_once),
        case!(a_landed_result_is_a_green_base),
        case!(a_stopped_check_is_repeated_by_resume),
        case!(a_cause_outside_the_repository_can_be_fixed),
        case!(a_command_is_not_rerun_on_the_same_base),
        case!(a_command_with_a_red_check_of_its_own_is_not_rerun),
    ]
}

fn script() -> Script {
    Script::default()
        .rule(write("T1", "made.txt", "made\n"))
        .rule(crate::support::Rule::any().text("Done."))
}

/// Sets a check and requires the base to pass it.
fn verified(settings: &mut Settings, command: &str) {
    settings.run.verify = Some(command.to_owned());
    settings.run.verify_base = true;
}

/// Returns how the base was verified: whether the check ran, and whether it passed.
fn results(played: &Played) -> Vec<(bool, bool)> {
    played.pick(|event| match event {
        Event::BaseVerified { passed, output, .. } => Some((output.is_some(), *passed)),
        _ => None,
    })
}

fn require_results(played: &Played, expected: &[(bool, bool)]) -> Outcome {
    let found = results(played);
    assert_eq!(
        found, expected,
        "{found:?} instead of {expected:?}\n{played}"
    );
    Ok(())
}

/// The exit code is that of wrong usage, and a run that was refused so is not the latest one.
fn a_red_base_spends_no_request() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let model = world.script(&script())?;
    let run = ["run", "plan.md", "--model", &model, "--verify", RED_BEFORE];
    let refused = world.types(&run, 2)?;
    says(
        &refused,
        &[
            "verifying the base: test -e made.txt",
            "failed to verify the base",
            "ended with exit code 3",
            "  | error: made.txt is missing",
            "--no-verify-base",
        ],
    )?;
    let spent = |run| {
        let events = world.archive()?.store().events(run, 0, usize::MAX)?;
        let is_spent = |event: &Event| {
            matches!(
                event,
                Event::AgentSpawned { .. } | Event::ModelRequested { .. }
            )
        };
        Ok::<_, Failed>(events.iter().any(|fact| is_spent(&fact.event)))
    };
    let store = world.archive()?;
    let first = store
        .store()
        .latest_run()?
        .ok_or_else(|| Failed::from("nothing is recorded"))?;
    assert!(!spent(&first)?, "a request was sent");
    for options in [
        &["log", first.as_str()][..],
        &["log", first.as_str(), "--tools"],
    ] {
        says(
            &world.types(options, 0)?,
            &["check of the base FAILED", "  | error: made.txt is missing"],
        )?;
    }
    let status = world.types(&["status", first.as_str()], 0)?;
    says(
        &status,
        &[
            "no task was started: on the base, `test -e made.txt",
            "ended with exit code 3",
        ],
    )?;
    world.types(&[&run[..], &["--no-verify-base"]].concat(), 0)?;
    let second = store.store().latest_run()?;
    world.types(&run, 2)?;
    assert!(
        second != Some(first) && store.store().latest_run()? == second,
        "a refused run is the latest"
    );
    world.types(&["land"], 0).map(drop)
}

/// The key of the settings does as the flag does, and without merges nothing has to pass.
fn a_red_base_is_not_verified_on_request() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let model = world.script(&script())?;
    let run = ["run", "plan.md", "--model", &model, "--verify", RED_BEFORE];
    world.types(&[&run[..], &["--merge", "none"]].concat(), 0)?;
    let silenced = world
        .orchestrate(&run)
        .env("ORCHESTRATE_VERIFY_BASE", "false")
        .run()?
        .exits(0)?;
    assert!(!silenced.stderr.contains("the base"), "{}", silenced.stderr);
    // A repository does not take away what its user has not.
    world
        .repository
        .write("orchestrate.toml", "verify_base = false\n")?;
    says(
        &world.types(&run, 2)?,
        &["`verify_base` stays at true: a repository cannot widen it to false"],
    )?;
    world
        .types(&[&run[..], &["--no-verify-base"]].concat(), 0)
        .map(drop)
}

fn a_red_base_is_an_error_for_programs() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let model = world.script(&script())?;
    let refused = world.types(
        &[
            "run", "plan.md", "--model", &model, "--verify", RED_BEFORE, "--json",
        ],
        2,
    )?;
    let error = refused.json()?;
    let message = error["errors"][0]["message"].as_str().unwrap_or_default();
    assert_eq!(error["type"], json!("error"), "{error}");
    assert!(message.contains("\nerror: made.txt is missing"), "{error}");
    let status = world.types(&["status", "--json"], 0)?.json()?;
    let shown = [
        &status["status"],
        &status["exit_code"],
        &status["tasks"][0]["state"],
    ];
    assert_eq!(
        shown,
        [&json!("failed"), &json!(2), &json!("ready")],
        "{status}"
    );
    Ok(())
}

/// Only where the tier can be the cause, and another one the way out.
fn refused_socket(tier: Confinement) -> Outcome {
    let world = World::lived_in()?;
    let said = "echo 'Error: listen EPERM: operation not permitted 0.0.0.0:53'; exit 1";
    let coordinator = world.coordinator(&script(), |settings| {
        settings.confinement = ConfinementChoice::Exactly(tier);
        verified(settings, said);
    })?;
    runtime()?.block_on(async {
        coordinator.spawn(ChildSpec::new("Make it")).await?;
        let Err(CoordinatorError::RedBase(failure)) = coordinator.finish().await else {
            return fail("the base is green");
        };
        let names_tier = failure
            .fix
            .is_some_and(|fix| fix.contains("the doctor's line `sandbox fallback`"));
        assert_eq!(names_tier, (tier == Confinement::Fallback), "{failure:?}");
        Ok(())
    })
}

/// Waiting for a child ends, and ending the children's run says why.
fn children_do_not_wait_for_a_red_base() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&script(), |settings| verified(settings, RED_BEFORE))?;
    runtime()?.block_on(async {
        let child = coordinator.spawn(ChildSpec::new("Make it")).await?;
        let waited = child.wait().await;
        assert!(
            matches!(waited, Err(CoordinatorError::RedBase(_))),
            "{waited:?}"
        );
        match coordinator.finish().await {
            Err(CoordinatorError::RedBase(_)) => Ok(()),
            other => fail(format!("{other:?}")),
        }
    })
}

fn a_red_setup_is_a_red_base() -> Outcome {
    let world = World::lived_in()?;
    let coordinator = world.coordinator(&script(), |settings| {
        verified(settings, "true");
        settings.run.worktree_setup = Some("echo no such module; exit 4".to_owned());
    })?;
    match runtime()?.block_on(coordinator.run(plan_input(PLAN)?)) {
        Err(CoordinatorError::RedBase(failure))
            if failure.command.ends_with("exit 4")
                && failure.exit == "exit code 4"
                && failure.lines == ["no such module"] =>
        {
            Ok(())
        }
        other => fail(format!("{other:?}")),
    }
}

/// Whatever decides the result of the check makes it run again.
fn a_green_base_is_verified_once() -> Outcome {
    let world = World::plain()?;
    world.repository.write(".gitignore", "*.log\n")?;
    let play = |command: &str, setup: Option<&str>| {
        world.play(COMMAND, &Script::default(), |settings| {
            verified(settings, command);
            settings.run.worktree_setup = setup.map(str::to_owned);
        })
    };
    let green = "test ! -e red.log";
    require_results(&play(green, None)?, &[(true, true)])?;
    let again = play(green, None)?;
    again.require_merged(&["T1"])?;
    require_results(&again, &[(false, true)])?;
    require_results(&play("test ! -e red.log; true", None)?, &[(true, true)])?;
    require_results(&play(green, Some("true"))?, &[(true, true)])?;
    world.repository.write(".worktreeinclude", "local.log\n")?;
    world.repository.write("local.log", "1\n")?;
    require_results(&play(green, None)?, &[(true, true)])?;
    require_results(&play(green, None)?, &[(false, true)])?;
    world.repository.write("local.log", "other\n")?;
    require_results(&play(green, None)?, &[(true, true)])?;
    world
        .repository
        .git(&["commit", "-q", "--allow-empty", "-m", "Same tree"])?;
    require_results(&play(green, None)?, &[(false, true)])
}

/// The tree of a merge was verified, so a run that starts from it verifies nothing.
fn a_landed_result_is_a_green_base() -> Outcome {
    let world = World::plain()?;
    world.write("one.md", COMMAND)?;
    world.write("two.md", "- [ ] T1 two (run: touch two.txt)\n")?;
    let first = world.types(
        &[
            "run",
            &world.file("one.md"),
            "--verify",
            "test ! -e red",
            "--land",
        ],
        0,
    )?;
    says(&first, &["verifying the base", "check of the base passed"])?;
    let second = world.types(
        &["run", &world.file("two.md"), "--verify", "test ! -e red"],
        0,
    )?;
    says(&second, &["the base passed its check before"])?;
    assert!(
        !second.stderr.contains("verifying the base"),
        "{}",
        second.stderr
    );
    Ok(())
}

/// A check that was stopped has no result: neither red nor green.
fn a_stopped_check_is_repeated_by_resume() -> Outcome {
    let world = World::lived_in()?;
    let command = "test -e go.log && exit 0; touch begun.log; sleep 600";
    let change = |settings: &mut Settings| verified(settings, command);
    let coordinator = world.coordinator(&script(), change)?;
    let report = runtime()?.block_on(async {
        let run = coordinator.start(plan_input(PLAN)?).await?;
        let begun = coordinator.layout().setup(run.id()).join("begun.log");
        let begun = move || until(PATIENCE, || Ok(begun.exists().then_some(())));
        tokio::task::spawn_blocking(begun).await??;
        run.raise(ShutdownLevel::Stop);
        Ok::<_, Failed>(run.wait().await?)
    })?;
    let stopped = Played::of(coordinator, report)?;
    stopped.require(130, &[("T1", Ready)])?;
    require_results(&stopped, &[])?;
    let run = stopped.report.run_id.clone();
    drop(stopped);
    world.repository.write(".gitignore", "*.log\n")?;
    world.repository.write(".worktreeinclude", "go.log\n")?;
    world.repository.write("go.log", "\n")?;
    let resumed = world.resume(&run, &script(), change)?;
    resumed.require_merged(&["T1"])?;
    require_results(&resumed, &[(true, true)])
}

/// A file that the project wants in every worktree was missing: the same run continues once it is
/// there.
fn a_cause_outside_the_repository_can_be_fixed() -> Outcome {
    let world = World::with_plan(PLAN)?;
    world.repository.write(".gitignore", "*.log\n")?;
    world.repository.write(".worktreeinclude", "go.log\n")?;
    let model = world.script(&script())?;
    world.types(
        &[
            "run",
            "plan.md",
            "--model",
            &model,
            "--verify",
            "test -e go.log",
        ],
        2,
    )?;
    says(
        &world.types(&["resume"], 2)?,
        &["failed to verify the base"],
    )?;
    world.repository.write("go.log", "\n")?;
    world.types(&["resume"], 0).map(drop)
}

/// The same command on the same base has the same end.
fn a_command_is_not_rerun_on_the_same_base() -> Outcome {
    let played = World::lived_in()?.play(COMMAND, &Script::default(), |settings| {
        settings.run.verify =
            Some("test ! -e one.txt || { echo error: there is one; exit 1; }".to_owned());
    })?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure("T1", FailureCause::Check, "error: there is one")?;
    require_runs(&played, 1)
}

fn a_command_with_a_red_check_of_its_own_is_not_rerun() -> Outcome {
    let plan = "- [ ] T1 one (run: touch one.txt) (verify: echo error: not enough; exit 1)\n";
    let played = World::lived_in()?.play(plan, &Script::default(), |_| ())?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure("T1", FailureCause::Check, "error: not enough")?;
    require_runs(&played, 1)
}

/// Requires how often the command of T1 was started.
fn require_runs(played: &Played, expected: usize) -> Outcome {
    let runs = played
        .pick(|event| matches!(event, Event::AgentSpawned { .. }).then_some(()))
        .len();
    assert_eq!(runs, expected, "{runs} runs\n{played}");
    Ok(())
}
