//! A person's commit that becomes a task's work: when that is possible, and what follows from it.

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{AdoptedWork, Event, VerifyScope};
use orchestrate_core::run::request::{Adoption, Decision, Part, Request, RequestRefused};
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{BlobId, RunSettings, Task, TaskId, TaskState, WithoutChanges, WorkStep};

use crate::facts;
use crate::facts::{
    cancelled, conflicted, merge_prepared, merged, ready, returned, review_requested, skipped,
};
use crate::story::Story;

const TASK: &str = "T1";

/// A run of a task with a check, and of one that depends on it; the user reviews everything.
fn begin() -> Story {
    let settings = RunSettings {
        merge: MergeMode::Review,
        ..RunSettings::default()
    };
    let checked = Task {
        verify: Some("check".to_owned()),
        ..facts::task(TASK, &[])
    };
    Story::planned(settings, vec![checked, facts::task("T2", &[TASK])])
}

impl Story {
    fn step(&self) -> Option<WorkStep> {
        self.record(TASK).next_work()
    }
}

fn task() -> TaskId {
    TASK.into()
}

fn spawned() -> Event {
    facts::spawned(task(), 1)
}

fn snapshot(commit: &str, tree: &str) -> Event {
    facts::snapshot(TASK, commit, tree)
}

fn committed() -> Event {
    facts::committed(task(), "c1", "t1")
}

fn verified(tree: &str, passed: bool) -> Event {
    facts::verified(TASK, VerifyScope::Task, tree, passed)
}

fn begun() -> Vec<Event> {
    vec![ready(task()), spawned()]
}

fn in_review() -> Vec<Event> {
    let work = [snapshot("c1", "t1"), committed(), verified("t1", true)];
    [&begun()[..], &work, &[review_requested(TASK)]].concat()
}

fn adoption(tip: &str) -> Adoption {
    Adoption {
        task: task(),
        tip: tip.into(),
        commit: "c2".into(),
        tree: "t2".into(),
        part: None,
    }
}

fn adopted(approved: bool, rest: Option<&str>) -> Event {
    let rest = rest.map(BlobId::from);
    Event::WorkAdopted(AdoptedWork {
        task: task(),
        commit: "c2".into(),
        tree: "t2".into(),
        approved,
        admitted: Vec::new(),
        rest,
    })
}

fn failed() -> Event {
    facts::failed(task(), FailureCause::Turns, "no")
}

#[test]
fn a_commit_is_taken_of_what_no_agent_works_on() {
    let conflicted = conflicted(task());
    let cancelled = cancelled(task(), "stopped");
    let table: [(Vec<Event>, &str, bool); 6] = [
        (begun(), "base", false),
        (
            [begun(), vec![snapshot("c1", "t1"), committed()]].concat(),
            "c1",
            false,
        ),
        (in_review(), "c1", true),
        ([begun(), vec![failed()]].concat(), "base", true),
        (
            [begun(), vec![snapshot("c1", "t1"), conflicted]].concat(),
            "c1",
            true,
        ),
        ([begun(), vec![cancelled]].concat(), "base", true),
    ];
    for (events, tip, is_taken) in table {
        let mut story = begin();
        story.tell_all(events);
        let state = story.state_of(TASK);
        let decided = story.0.decide(&Request::Adopt(adoption(tip)));
        if !is_taken {
            assert_eq!(
                decided,
                Err(RequestRefused::NotAdoptable {
                    task: task(),
                    state
                })
            );
            continue;
        }
        assert_eq!(
            decided.unwrap().decision,
            Decision::Adopt(adoption(tip)),
            "{state:?}"
        );
        let elsewhere = story.0.decide(&Request::Adopt(adoption("other")));
        assert_eq!(elsewhere, Err(RequestRefused::Changed { task: task() }));
        // It is checked again, and reviewed as any other work.
        story.tell(adopted(false, None));
        let expected = WorkStep::Verify {
            command: "check".to_owned(),
            tree: "t2".into(),
        };
        assert_eq!(
            (story.state_of(TASK), story.step()),
            (TaskState::Committed, Some(expected))
        );
        story.tell(verified("t2", true));
        assert_eq!(
            (story.state_of(TASK), story.0.due_facts()),
            (TaskState::Verified, vec![review_requested(task())])
        );
    }
}

#[test]
fn what_depends_on_a_failed_task_waits_for_its_adopted_work() {
    let mut story = begin();
    story.tell_all([begun(), vec![failed()]].concat());
    assert_eq!(story.0.due_facts(), [skipped("T2", TASK)]);
    story.due();
    story.tell(adopted(false, None));
    assert_eq!(story.state_of("T2"), TaskState::Pending);
    assert_eq!(story.0.due_facts(), []);
}

#[test]
fn adopted_work_whose_check_fails_goes_to_the_agent() {
    let mut story = begin();
    story
        .tell_all(in_review())
        .tell_all([adopted(true, None), verified("t2", false)]);
    story.tell(returned(task(), ReturnCause::TaskCheck));
    assert_eq!(story.state_of(TASK), TaskState::Running);
    // What the agent makes of it was approved by nobody.
    let other = facts::committed(task(), "c3", "t3");
    story.tell_all([other, verified("t3", true)]);
    assert_eq!(story.0.due_facts(), [review_requested(task())]);
}

#[test]
fn an_approved_part_is_merged_after_its_check_and_the_rest_goes_back() {
    let mut story = begin();
    story.tell_all(in_review());
    let part = Part {
        taken: vec!["a".to_owned()],
        left: vec!["b".to_owned()],
        admitted: Vec::new(),
        message: None,
    };
    let request = Request::Adopt(Adoption {
        part: Some(part),
        ..adoption("c1")
    });
    let answer = story.0.decide(&request).unwrap().answer;
    assert_eq!(
        answer,
        "T1 is approved in part (a); the rest returns to its agent once that is merged: b"
    );
    story.tell_all([adopted(true, Some("rest")), verified("t2", true)]);
    assert!(
        story.0.next_merge().is_some(),
        "no other approval is needed"
    );
    let (into, target, candidate) = (
        orchestrate_core::MergeTarget::Integration,
        "base".into(),
        "c2".into(),
    );
    let started = Event::MergeStarted {
        task: task(),
        into,
        target,
        candidate,
    };
    let prepared = merge_prepared(task(), "m", "tm");
    let merged = merged(task(), "m", "base");
    story.tell_all([started, prepared, merged]);
    let rest = story.0.task(&task()).unwrap().rest().cloned().unwrap();
    assert_eq!(rest, BlobId::from("rest"));
    story.tell_all([Event::TaskReturned {
        task: task(),
        cause: ReturnCause::Rest,
        text: rest,
        onto: None,
    }]);
    let record = story.0.task(&task()).unwrap();
    assert_eq!((record.state(), record.rest()), (TaskState::Ready, None));
    // The part is in the result and stands; an agent that has nothing more to do has succeeded.
    assert!(!record.is_rejected_in_result() && story.0.is_in_result(record));
    assert_eq!(record.without_changes(false), WithoutChanges::NothingToDo);
    assert_eq!(
        story.0.due_facts(),
        [],
        "the task that depends on it waits for the rest"
    );
}

#[test]
fn a_part_is_taken_of_work_in_review_alone() {
    let mut story = begin();
    story.tell_all([begun(), vec![failed()]].concat());
    let part = Some(Part {
        taken: vec!["a".to_owned()],
        left: Vec::new(),
        admitted: Vec::new(),
        message: None,
    });
    let refused = story.0.decide(&Request::Adopt(Adoption {
        part,
        ..adoption("base")
    }));
    assert_eq!(
        refused,
        Err(RequestRefused::NotInReview {
            task: task(),
            state: TaskState::Failed
        })
    );
}

#[test]
fn older_records_of_an_adoption_are_read() {
    let text = r#"{"type": "work.adopted", "task": "T1", "commit": "c2", "tree": "t2"}"#;
    assert_eq!(
        serde_json::from_str::<Event>(text).unwrap(),
        adopted(false, None)
    );
}
