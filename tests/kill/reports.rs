//! Kills a coordinator around the last report of an agent: there is never a second one, and the
//! work is kept.

use libtest_mimic::Failed;
use orchestrate_core::TaskState;
use orchestrate_core::event::Event;
use orchestrate_core::task::FailureCause;

use super::scene::{KILLED, Scene};
use super::{NO_FAULT, Play, places, plays};
use crate::support::{Case, Outcome, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("kill::after_an_append_the_last_report_is_made_once", || {
            made_once("after")
        }),
        case(
            "kill::before_an_append_the_last_report_is_made_once",
            || made_once("before"),
        ),
    ]
}

/// The appends from which on the report is due, counted from the end; the short form tries these.
const LAST_APPENDS: u64 = 8;

fn made_once(kind: &str) -> Outcome {
    let play = plays::reporting();
    let scene = Scene::of(&play)?;
    let appends: u64 = scene
        .coordinate(NO_FAULT)?
        .exits(0)?
        .stderr
        .trim()
        .parse()?;
    require_one_report(&scene, true)?;
    let (all, mut at) = places(appends, LAST_APPENDS);
    if !all && at.len() > 1 {
        at = (appends.saturating_sub(LAST_APPENDS) + 1..=appends).collect();
    }
    for at in at {
        killed(&play, &format!("{kind}:{at}")).map_err(|failure| {
            Failed::from(format!(
                "{kind}:{at} of {appends}: {}",
                failure.message().unwrap_or_default()
            ))
        })?;
    }
    Ok(())
}

/// Kills a run, and resumes it to its end.
fn killed(play: &Play, fault: &str) -> Outcome {
    let scene = Scene::of(play)?;
    scene.coordinate(fault)?.exits(KILLED)?;
    scene.coordinate(NO_FAULT)?.exits(0)?;
    require_one_report(&scene, false)?;
    scene.require_untouched()
}

/// Requires that the agent was asked once for its last report, that the task failed for its limit
/// once, and that its work is kept; a report whose reply was lost with the process is missing, and
/// none that arrived is.
pub(super) fn require_one_report(scene: &Scene, arrives: bool) -> Outcome {
    let events = scene.events()?;
    let after: Vec<&Event> = events
        .iter()
        .skip_while(|event| !matches!(event, Event::ReportDue(_)))
        .collect();
    let count = |fits: fn(&Event) -> bool| after.iter().filter(|event| fits(event)).count();
    let [dues, requests, replies, reports, failures] = [
        count(|event| matches!(event, Event::ReportDue(_))),
        count(|event| matches!(event, Event::ModelRequested { .. })),
        count(|event| matches!(event, Event::ModelReplied { .. })),
        count(|event| matches!(event, Event::ReportGiven(_))),
        count(|event| {
            matches!(
                event,
                Event::TaskFailed {
                    cause: FailureCause::Turns,
                    ..
                }
            )
        }),
    ];
    let is_kept = events
        .iter()
        .any(|event| matches!(event, Event::SnapshotTaken { .. }));
    let is_once = dues == 1 && requests == 1 && replies <= 1 && reports == replies && failures == 1;
    let state = scene.state()?;
    let failed = state
        .tasks()
        .all(|record| record.state() == TaskState::Failed);
    assert!(is_once, "{events:#?}");
    assert!(is_kept, "{events:#?}");
    assert!(failed, "{events:#?}");
    assert!((replies == 1 || !arrives), "{events:#?}");
    Ok(())
}
