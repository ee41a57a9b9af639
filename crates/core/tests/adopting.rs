//! A person's commit that becomes a task's work: when that is possible, and what follows from it.
#![expect(
    clippy::unwrap_used,
    reason = "a story that cannot be told fails the test"
)]

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{AdoptedWork, Event, VERSION, VerifyScope};
use orchestrate_core::run::request::{Adoption, Decision, Part, Request, RequestRefused};
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{
    BlobId, Oid, Recorded, RunSettings, RunState, Task, TaskId, TaskState, WithoutChanges, WorkStep,
};

const TASK: &str = "T1";

/// A run of a task with a check, and of one that depends on it; the user reviews everything.
struct Story(RunState);

impl Story {
    fn new() -> Self {
        let started = Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            settings: Box::new(RunSettings {
                merge: MergeMode::Review,
                ..RunSettings::default()
            }),
            base_commit: Oid::from("base"),
            base_branch: Some("main".to_owned()),
        };
        let task = Event::planned(Task {
            id: TASK.into(),
            verify: Some("true".to_owned()),
            ..Task::default()
        });
        let dependent = Task {
            id: "T2".into(),
            depends: vec![TASK.into()],
            ..Task::default()
        };
        let facts = [started, task, Event::planned(dependent)]
            .into_iter()
            .zip(1..);
        let facts: Vec<Recorded> = facts.map(|(event, seq)| recorded(event, seq)).collect();
        Self(RunState::replay(&facts).unwrap().unwrap())
    }

    fn tell(&mut self, events: impl IntoIterator<Item = Event>) -> &mut Self {
        for event in events {
            self.0.apply(&recorded(event, self.0.seq + 1)).unwrap();
        }
        self
    }

    fn state(&self) -> TaskState {
        self.0.task(&TASK.into()).unwrap().state()
    }

    fn step(&self) -> Option<WorkStep> {
        self.0.task(&TASK.into()).unwrap().next_work()
    }
}

fn recorded(event: Event, seq: u64) -> Recorded {
    Recorded {
        run_id: "r-abcdef".into(),
        seq,
        ts_ms: seq,
        v: VERSION,
        event,
    }
}

fn task() -> TaskId {
    TASK.into()
}

fn spawned() -> Event {
    Event::AgentSpawned {
        task: task(),
        attempt: 1,
        agent: Some("implementer".to_owned()),
        model: None,
        branch: "orchestrate/r-abcdef/T1".to_owned(),
        base: Oid::from("base"),
        spec: None,
        sends: None,
    }
}

fn snapshot(commit: &str, tree: &str) -> Event {
    let (commit, tree) = (Oid::from(commit), Oid::from(tree));
    Event::SnapshotTaken {
        task: task(),
        number: 1,
        commit,
        tree,
        on_branch: true,
        left_out: Vec::new(),
        aside: Default::default(),
    }
}

fn committed() -> Event {
    Event::TaskCommitted {
        task: task(),
        commit: "c1".into(),
        tree: "t1".into(),
        summary: "done".to_owned(),
    }
}

fn verified(tree: &str, passed: bool) -> Event {
    let (scope, command, exit) = (
        VerifyScope::Task,
        "true".to_owned(),
        "exit code 0".to_owned(),
    );
    let (tree, output) = (Oid::from(tree), BlobId::from("output"));
    Event::VerifyFinished {
        task: task(),
        scope,
        tree,
        command,
        passed,
        exit,
        output,
        duration_ms: 1,
    }
}

fn begun() -> Vec<Event> {
    vec![Event::TaskReady { task: task() }, spawned()]
}

fn in_review() -> Vec<Event> {
    let requested = Event::ReviewRequested { task: task() };
    [
        begun(),
        vec![
            snapshot("c1", "t1"),
            committed(),
            verified("t1", true),
            requested,
        ],
    ]
    .concat()
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
    Event::TaskFailed {
        task: task(),
        cause: FailureCause::Turns,
        message: "no".to_owned(),
    }
}

#[test]
fn a_commit_is_taken_of_what_no_agent_works_on() {
    let conflicted = Event::TaskConflicted {
        task: task(),
        cause: ReturnCause::Conflict,
        message: String::new(),
    };
    let cancelled = Event::TaskCancelled {
        task: task(),
        message: "stopped".to_owned(),
    };
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
        let mut story = Story::new();
        story.tell(events);
        let state = story.state();
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
        story.tell([adopted(false, None)]);
        let expected = WorkStep::Verify {
            command: "true".to_owned(),
            tree: "t2".into(),
        };
        assert_eq!(
            (story.state(), story.step()),
            (TaskState::Committed, Some(expected))
        );
        story.tell([verified("t2", true)]);
        assert_eq!(
            (story.state(), story.0.due_facts()),
            (
                TaskState::Verified,
                vec![Event::ReviewRequested { task: task() }]
            )
        );
    }
}

#[test]
fn what_depends_on_a_failed_task_waits_for_its_adopted_work() {
    let mut story = Story::new();
    story.tell([begun(), vec![failed()]].concat());
    let skipped = story.0.due_facts();
    assert_eq!(
        skipped,
        [Event::TaskSkipped {
            task: "T2".into(),
            because: task()
        }]
    );
    story.tell(skipped);
    story.tell([adopted(false, None)]);
    assert_eq!(
        story.0.task(&"T2".into()).unwrap().state(),
        TaskState::Pending
    );
    assert_eq!(story.0.due_facts(), []);
}

#[test]
fn adopted_work_whose_check_fails_goes_to_the_agent() {
    let mut story = Story::new();
    story
        .tell(in_review())
        .tell([adopted(true, None), verified("t2", false)]);
    let text = BlobId::from("text");
    story.tell([Event::TaskReturned {
        task: task(),
        cause: ReturnCause::TaskCheck,
        text,
        onto: None,
    }]);
    assert_eq!(story.state(), TaskState::Running);
    // What the agent makes of it was approved by nobody.
    let other = Event::TaskCommitted {
        task: task(),
        commit: "c3".into(),
        tree: "t3".into(),
        summary: String::new(),
    };
    story.tell([other, verified("t3", true)]);
    assert_eq!(
        story.0.due_facts(),
        [Event::ReviewRequested { task: task() }]
    );
}

#[test]
fn an_approved_part_is_merged_after_its_check_and_the_rest_goes_back() {
    let mut story = Story::new();
    story.tell(in_review());
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
    story.tell([adopted(true, Some("rest")), verified("t2", true)]);
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
    let prepared = Event::MergePrepared {
        task: task(),
        commit: "m".into(),
        tree: "tm".into(),
    };
    let merged = Event::TaskMerged {
        task: task(),
        commit: Some("m".into()),
        target: Some("base".into()),
        summary: None,
    };
    story.tell([started, prepared, merged]);
    let rest = story.0.task(&task()).unwrap().rest().cloned().unwrap();
    assert_eq!(rest, BlobId::from("rest"));
    story.tell([Event::TaskReturned {
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
    let mut story = Story::new();
    story.tell([begun(), vec![failed()]].concat());
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
