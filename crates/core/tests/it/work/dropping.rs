//! Dropping tasks: what is refused, and what remains in the state.

use std::collections::BTreeMap;

use orchestrate_core::event::{Event, RunStatus, UndoneLanding};
use orchestrate_core::run::outcome;
use orchestrate_core::run::request::{Accepted, Decision, Request};
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{Action, DroppedTasks, Oid, RequestRefused, RunSettings, TaskId, TaskState};

use crate::facts::{
    cancelled, committed, failed, finished, merge_prepared, merge_started, merged, ready, recorded,
    returned, spawned, task,
};
use crate::story::Story;

fn id(text: &str) -> TaskId {
    TaskId::from(text)
}

fn oid(text: &str) -> Oid {
    Oid::new(text)
}

/// Builds a run in which b is built on a, and c on neither; all are merged, in this order.
fn merged_run() -> Story {
    let tasks = vec![task("a", &[]), task("b", &["a"]), task("c", &[])];
    let mut story = Story::planned(RunSettings::default(), tasks);
    let mut target = oid("base");
    for task in ["a", "b", "c"] {
        target = merge_onto(&mut story, task, &target);
    }
    story
}

fn merge_onto(story: &mut Story, task: &str, target: &Oid) -> Oid {
    let [work, tree, merge] =
        ["work", "tree", "merge"].map(|what| Oid::new(format!("{task} {what}")));
    story.tell_all([
        ready(task),
        spawned(task, 1),
        committed(task, work.clone(), tree.clone()),
        merge_started(task, target.clone(), work),
        merge_prepared(task, merge.clone(), tree),
        merged(task, merge.clone(), target.clone()),
    ]);
    merge
}

#[test]
fn dependents_and_what_has_landed_are_refused() {
    let mut story = merged_run();
    let dependents = vec![id("b")];
    assert_eq!(
        story.0.decide_drop(&id("a"), false),
        Err(RequestRefused::HasDependents {
            task: id("a"),
            dependents
        })
    );
    assert_eq!(
        story.0.decide_drop(&id("a"), true),
        Ok(vec![id("a"), id("b")])
    );
    assert_eq!(story.0.decide_drop(&id("c"), false), Ok(vec![id("c")]));
    assert!(matches!(
        story.0.decide_drop(&id("d"), false),
        Err(RequestRefused::NoSuchTask { .. })
    ));
    let (branch, from, to) = ("main".to_owned(), oid("base"), oid("c merge"));
    story.tell(Event::LandingStarted {
        branch: branch.clone(),
        from: from.clone(),
        to: to.clone(),
    });
    story.tell(Event::RunLanded {
        branch: branch.clone(),
        from: from.clone(),
        to,
    });
    assert_eq!(
        story.0.decide_drop(&id("c"), false),
        Err(RequestRefused::Landed { task: id("c") })
    );
    story.tell(Event::RunUnlanded(UndoneLanding { branch, to: from }));
    assert_eq!(story.0.decide_drop(&id("c"), false), Ok(vec![id("c")]));
}

#[test]
fn a_dropped_task_leaves_the_others_in_a_new_result() {
    let mut story = merged_run();
    story.tell(finished(RunStatus::Succeeded, 0));
    let merges = BTreeMap::from([(oid("c merge"), oid("c merge again"))]);
    let tasks = vec![id("a"), id("b")];
    let (target, commit) = (oid("c merge"), oid("c merge again"));
    let wrong = Event::TasksDropped(DroppedTasks {
        tasks: tasks.clone(),
        target: oid("base"),
        commit: commit.clone(),
        merges: merges.clone(),
    });
    assert!(
        story
            .0
            .clone()
            .apply(&recorded(story.0.seq + 1, wrong))
            .is_err()
    );
    story.tell(Event::TasksDropped(DroppedTasks {
        tasks,
        target: target.clone(),
        commit: commit.clone(),
        merges,
    }));
    let states = ["a", "b", "c"].map(|task| story.0.task(&id(task)).unwrap().state());
    assert_eq!(
        states,
        [
            TaskState::Cancelled,
            TaskState::Cancelled,
            TaskState::Merged
        ]
    );
    let merged = &story.0.task(&id("c")).unwrap().merged()[0];
    assert_eq!(
        (&merged.commit, &story.0.integration, &story.0.replaced),
        (&commit, &commit, &vec![target])
    );
    assert_eq!(outcome(&story.0), Some((RunStatus::Succeeded, 0)));
    assert!(matches!(
        story.0.decide_drop(&id("a"), false),
        Err(RequestRefused::NothingToDrop { .. })
    ));
}

#[test]
fn a_rejection_stands_until_the_task_is_dropped() {
    let mut story = merged_run();
    let cause = ReturnCause::Rejected;
    story.tell(returned("c", cause));
    assert_eq!(story.0.rejected_in_result(), [id("c")]);
    let stopped = cancelled("c", "stopped");
    story.tell(stopped);
    assert_eq!(outcome(&story.0), Some((RunStatus::NeedsHuman, 3)));
    let (target, commit) = (oid("c merge"), oid("b merge"));
    story.tell(Event::TasksDropped(DroppedTasks {
        tasks: vec![id("c")],
        target,
        commit,
        merges: BTreeMap::new(),
    }));
    assert!(story.0.rejected_in_result().is_empty());
    assert_eq!(outcome(&story.0), Some((RunStatus::Succeeded, 0)));
}

#[test]
fn a_rejection_of_merged_work_that_changed_nothing_may_be_taken_back() {
    let mut story = merged_run();
    let returned = |cause| returned("a", cause);
    let spawned = |attempt| Event::AgentSpawned {
        task: id("a"),
        attempt,
        agent: Some("x".to_owned()),
        model: None,
        branch: "orchestrate/r/a".to_owned(),
        base: oid("c merge"),
        spec: None,
        sends: None,
    };
    let failed = |cause| failed("a", cause, "");
    let is_offered = |story: &Story| {
        story
            .0
            .actions(&id("a"))
            .contains(&Action::Approve(id("a")))
    };
    // For another reason than that the agent has changed nothing, its new work may be wanted.
    story.tell(returned(ReturnCause::Rejected));
    story.tell(spawned(2));
    story.tell(failed(FailureCause::Turns));
    assert!(!is_offered(&story));
    story.tell(returned(ReturnCause::Retried));
    story.tell(spawned(3));
    story.tell(failed(FailureCause::NoChanges));
    let stale = |story: &Story| story.0.task(&id("b")).unwrap().is_stale();
    assert_eq!(
        (
            story.0.rejected_in_result(),
            stale(&story),
            is_offered(&story)
        ),
        (vec![id("a")], true, true)
    );
    let approve = Request::Approve {
        task: id("a"),
        tree: oid("a tree"),
    };
    let Ok(Accepted {
        decision: Decision::Record(events),
        ..
    }) = story.0.decide(&approve)
    else {
        unreachable!()
    };
    story.tell_all(events);
    let record = story.0.task(&id("a")).unwrap();
    assert_eq!(
        (record.state(), record.commit(), stale(&story)),
        (TaskState::Merged, Some(&oid("a work")), false)
    );
    assert!(story.0.rejected_in_result().is_empty());
    assert_eq!(outcome(&story.0), Some((RunStatus::Succeeded, 0)));
}
