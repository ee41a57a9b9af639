//! Fills the disk at each kind of fact that a tree of agents adds to the journal: the run stops,
//! and is resumed to the same end.

use libtest_mimic::Failed;

use super::reports::require_one_report;
use super::scene::{self, FAILED, Scene};
use super::{LONG_FORM, NO_FAULT, Reference, asking, caught, family, plays, terminating, tree};
use crate::support::{Case, Outcome, case, fail};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case!(
            "kill",
            a_disk_that_is_full_at_a_fact_of_a_tree_loses_nothing
        ),
        case!("kill", a_disk_that_is_full_at_the_last_report_loses_nothing),
    ]
}

/// The short form tries one fact in this many.
const SHORT_FORM_ONE_IN: usize = 6;

type Facts = (
    fn() -> Result<&'static Reference, Failed>,
    &'static [&'static str],
);

/// The facts of trees, each beside a run in which it occurs. The first task is that of the plan.
const FACTS: [Facts; 4] = [
    (
        tree,
        &[
            "task.added@2",
            "agent.waiting",
            "message.sent",
            "message.sent@2",
            "agent.woken",
            "message.delivered",
            "task.returned",
            "work.compared",
            "merge.started",
            "task.merged",
            "worktree.prepared@6",
        ],
    ),
    (family, &["handover.waiting", "task.returned@2"]),
    (
        terminating,
        &["stop.requested", "task.cancelled", "agent.woken"],
    ),
    (asking, &["message.delivered@2"]),
];

fn a_disk_that_is_full_at_a_fact_of_a_tree_loses_nothing() -> Outcome {
    let all = std::env::var(LONG_FORM).is_ok_and(|wanted| wanted == "all");
    let facts = FACTS
        .iter()
        .flat_map(|(reference, facts)| facts.iter().map(move |fact| (reference, fact)));
    let tried: Vec<_> = facts
        .step_by(if all { 1 } else { SHORT_FORM_ONE_IN })
        .collect();
    let mut failures = Vec::new();
    for (reference, fact) in &tried {
        if let Err(failure) = caught(|| at_fact(reference()?, fact)) {
            failures.push(format!(
                "--- {fact}\n{}",
                failure.message().unwrap_or_default()
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    scene::say(&format!(
        "the disk full at a fact: {0} of {0} ended the same",
        tried.len()
    ));
    Ok(())
}

pub(super) fn at_fact(reference: &Reference, fact: &str) -> Outcome {
    let scene = Scene::of(&reference.play)?;
    fill(&scene, fact)?;
    let ran = scene.coordinate(NO_FAULT)?.exits(0)?;
    reference.require_same(&scene, &ran.stdout, 1)
}

/// Runs until the disk is full at a fact.
pub(super) fn fill(scene: &Scene, fact: &str) -> Outcome {
    let failed = scene.coordinate(&format!("full:{fact}"))?.exits(FAILED)?;
    if !failed.stderr.contains("the disk is full") {
        return fail(failed.stderr);
    }
    scene.require_untouched()
}

fn a_disk_that_is_full_at_the_last_report_loses_nothing() -> Outcome {
    for fact in ["report.due", "report.given", "task.failed"] {
        let scene = Scene::of(&plays::reporting())?;
        fill(&scene, fact)?;
        scene.coordinate(NO_FAULT)?.exits(0)?;
        require_one_report(&scene, false).map_err(|failure| {
            Failed::from(format!("{fact}: {}", failure.message().unwrap_or_default()))
        })?;
        scene.require_untouched()?;
    }
    Ok(())
}
