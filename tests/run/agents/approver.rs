//! Calls that a program's own approver decides about, in whole runs.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use libtest_mimic::Failed;
use orchestrate_coordinator::{Approver, ApproverAnswer, AskedCall, Run, Settings, ShutdownLevel};
use orchestrate_core::TaskState::Waiting;
use orchestrate_core::event::Event;
use orchestrate_core::policy::{RuleDecision, RuleText};

use serde_json::json;

use crate::support::{
    Case, Outcome, Played, Script, World, after, allow_all, case, done, fail, lines, on,
    plan_input, put, runtime,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(decides_and_is_recorded_with_its_name),
        case!(a_call_that_it_fails_on_waits_for_a_person),
        case!(a_person_may_decide_first),
        case!(a_run_that_is_stopped_does_not_wait_for_it),
    ]
}

const PLAN: &str = "- [ ] T1 publish\n- [ ] T2 publish\n";

/// Each task asks for a file of its own, and writes another if that is refused.
fn script() -> Script {
    let publish = |script: Script, task: &'static str| {
        let touch = json!({"command": format!("touch {task}.txt")});
        script
            .rule(on(task, 1).call("run_shell_command", &touch))
            .rule(put(after(task, "not today"), "no.txt", "no\n"))
            .rule(done(task))
    };
    ["T1", "T2", "T3"]
        .into_iter()
        .fold(Script::default(), publish)
}

/// Answers by a function, and keeps what it was asked.
struct Gate<F> {
    asked: Mutex<Vec<AskedCall>>,
    answer: F,
}

impl<F> Gate<F> {
    fn new(answer: F) -> Arc<Gate<F>> {
        Arc::new(Gate {
            asked: Mutex::default(),
            answer,
        })
    }

    fn asked(&self) -> Vec<AskedCall> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

type Answered = Result<ApproverAnswer, Box<dyn Error + Send + Sync>>;

#[async_trait]
impl<F: Fn(&AskedCall) -> Option<Answered> + Send + Sync> Approver for Gate<F> {
    fn name(&self) -> &str {
        "gate"
    }

    /// Never returns if the function has no answer.
    async fn decide(&self, call: &AskedCall) -> Answered {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(call.clone());
        match (self.answer)(call) {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

fn ask(settings: &mut Settings, approver: Option<Arc<dyn Approver>>) {
    settings.run.rules = vec![RuleText::new(
        RuleDecision::Ask,
        "run_shell_command(touch*)",
        "--ask",
    )];
    settings.approver = approver;
    settings.warn = warn;
}

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn warn(text: &str) {
    WARNINGS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(text.to_owned());
}

/// Returns the decisions of a run: whether it was allowed, and by which approver.
fn decisions(played: &Played) -> Vec<(bool, Option<String>)> {
    played.pick(|event| match event {
        Event::ApprovalDecided { allowed, by, .. } => Some((*allowed, by.clone())),
        _ => None,
    })
}

fn decides_and_is_recorded_with_its_name() -> Outcome {
    let world = World::lived_in()?;
    let gate = Gate::new(|call: &AskedCall| {
        Some(Ok(match call.agent.as_str() {
            "T1" => ApproverAnswer::Allow,
            _ => ApproverAnswer::Deny {
                reason: "not today".to_owned(),
            },
        }))
    });
    let approver: Arc<dyn Approver> = gate.clone();
    let played = world.play(PLAN, &script(), |settings| ask(settings, Some(approver)))?;
    played.require_merged(&["T1", "T2"])?;
    let mut made = decisions(&played);
    made.sort();
    assert_eq!(
        made,
        [
            (false, Some("gate".to_owned())),
            (true, Some("gate".to_owned()))
        ],
        "{played}"
    );
    let is_there = |file| world.merged(&played.report, file).is_ok();
    if [is_there("T1.txt"), is_there("T2.txt"), is_there("no.txt")] != [true, false, true] {
        return fail(played.story());
    }
    let mut asked = gate.asked();
    asked.sort_by(|one, other| one.agent.cmp(&other.agent));
    let [first, _] = asked.as_slice() else {
        return fail(format!("{asked:?}"));
    };
    let shown = (
        first.tool.as_str(),
        &first.arguments["command"],
        first.rule.as_str(),
    );
    assert_eq!(
        shown,
        (
            "run_shell_command",
            &json!("touch T1.txt"),
            "ask:run_shell_command(touch*)"
        ),
        "{first:?}"
    );
    let log = world.types(&["audit", "show", "--json"], 0)?.stdout;
    let of_t1 = lines(&log)?
        .into_iter()
        .find(|line| line["record"]["agent_id"] == "T1");
    let decision =
        json!({"outcome": "approved", "rule": "ask:run_shell_command(touch*)", "by": "gate"});
    assert!(
        of_t1.is_some_and(|line| line["record"]["decision"] == decision),
        "{log}"
    );
    Ok(())
}

/// An approver that fails, one that panics, and one that has no opinion: a person decides, in a
/// process without one.
fn a_call_that_it_fails_on_waits_for_a_person() -> Outcome {
    let world = World::lived_in()?;
    #[expect(clippy::panic, reason = "an approver that panics")]
    let gate = Gate::new(|call: &AskedCall| match call.agent.as_str() {
        "T1" => Some(Err("no connection".into())),
        "T2" => panic!("a bug of the program"),
        _ => Some(Ok(ApproverAnswer::LeaveToPerson)),
    });
    let approver: Arc<dyn Approver> = gate.clone();
    let plan = format!("{PLAN}- [ ] T3 publish\n");
    let played = world.play(&plan, &script(), |settings| ask(settings, Some(approver)))?;
    played.require(3, &[("T1", Waiting), ("T2", Waiting), ("T3", Waiting)])?;
    assert!(decisions(&played).is_empty(), "{played}");
    assert_eq!(gate.asked().len(), 3, "{played}");
    let warnings = WARNINGS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .join("\n");
    for expected in [
        "the approver gate failed: no connection; the call ",
        "the approver gate panicked; the call ",
    ] {
        assert!(warnings.contains(expected), "{warnings}");
    }
    let run = played.allow_all()?;
    let resumed = world.resume(&run, &script(), |settings| ask(settings, None))?;
    resumed.require_merged(&["T1", "T2", "T3"])?;
    assert_eq!(decisions(&resumed), vec![(true, None); 3], "{resumed}");
    Ok(())
}

/// Starts a run whose approver never answers, and waits until it has been asked about both calls.
async fn asking(coordinator: &orchestrate_coordinator::Coordinator) -> Result<Run, Failed> {
    let run = coordinator.start(plan_input(PLAN)?).await?;
    let mut state = run.watch();
    state
        .wait_for(|state| state.open_approvals().count() == 2)
        .await?;
    Ok(run)
}

fn a_person_may_decide_first() -> Outcome {
    let world = World::lived_in()?;
    let gate: Arc<dyn Approver> = Gate::new(|_: &AskedCall| None);
    let coordinator = world.coordinator(&script(), |settings| ask(settings, Some(gate)))?;
    let report = runtime()?.block_on(async {
        let run = asking(&coordinator).await?;
        allow_all(run.store(), run.id())?;
        Ok::<_, Failed>(run.wait().await?)
    })?;
    let played = Played::of(coordinator, report)?;
    played.require_merged(&["T1", "T2"])?;
    assert_eq!(decisions(&played), vec![(true, None); 2], "{played}");
    Ok(())
}

fn a_run_that_is_stopped_does_not_wait_for_it() -> Outcome {
    let world = World::lived_in()?;
    let gate: Arc<dyn Approver> = Gate::new(|_: &AskedCall| None);
    let coordinator = world.coordinator(&script(), |settings| ask(settings, Some(gate)))?;
    let report = runtime()?.block_on(async {
        let run = asking(&coordinator).await?;
        run.raise(ShutdownLevel::Drain);
        Ok::<_, Failed>(run.wait().await?)
    })?;
    let played = Played::of(coordinator, report)?;
    played.require(130, &[("T1", Waiting), ("T2", Waiting)])?;
    assert!(decisions(&played).is_empty(), "{played}");
    Ok(())
}
