//! Dropping tasks: what is refused, and what remains in the state.
#![expect(
    clippy::unwrap_used,
    reason = "a story that cannot be told fails the test"
)]

use std::collections::BTreeMap;

use orchestrate_core::event::{Event, RunStatus, UndoneLanding, VERSION};
use orchestrate_core::run::outcome;
use orchestrate_core::run::request::{Accepted, Decision, Request};
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{
    Action, BlobId, DroppedTasks, MergeTarget, Oid, Recorded, RequestRefused, RunSettings,
    RunState, Task, TaskId, TaskState,
};

fn id(text: &str) -> TaskId {
    TaskId::from(text)
}

fn oid(text: &str) -> Oid {
    Oid::new(text)
}

struct Story(RunState);

impl Story {
    /// Builds a run in which b is built on a, and c on neither; all are merged, in this order.
    fn merged() -> Story {
        let started = Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            settings: Box::new(RunSettings::default()),
            base_commit: oid("base"),
            base_branch: Some("main".to_owned()),
        };
        let mut story = Story(RunState::begin(&recorded(1, started)).unwrap());
        for (task, depends) in [("a", vec![]), ("b", vec![id("a")]), ("c", vec![])] {
            let task = Task {
                id: id(task),
                depends,
                ..Task::default()
            };
            story.tell(Event::planned(task));
        }
        let mut target = oid("base");
        for task in ["a", "b", "c"] {
            target = story.merge(task, &target);
        }
        story
    }

    fn tell(&mut self, event: Event) {
        self.0.apply(&recorded(self.0.seq + 1, event)).unwrap();
        assert_eq!(self.0, self.0.with_new_agenda());
    }

    fn merge(&mut self, task: &str, target: &Oid) -> Oid {
        let (work, tree, merge) = (
            oid(&format!("{task} work")),
            oid(&format!("{task} tree")),
            oid(&format!("{task} merge")),
        );
        let branch = format!("orchestrate/r/{task}");
        let (task, commit) = (id(task), Some(merge.clone()));
        self.tell(Event::TaskReady { task: task.clone() });
        let (agent, model, base) = (Some("x".to_owned()), None, target.clone());
        self.tell(Event::AgentSpawned {
            task: task.clone(),
            attempt: 1,
            agent,
            model,
            branch,
            base,
            spec: None,
            sends: None,
        });
        let summary = String::new();
        self.tell(Event::TaskCommitted {
            task: task.clone(),
            commit: work.clone(),
            tree: tree.clone(),
            summary,
        });
        self.tell(Event::MergeStarted {
            task: task.clone(),
            into: MergeTarget::Integration,
            target: target.clone(),
            candidate: work,
        });
        self.tell(Event::MergePrepared {
            task: task.clone(),
            commit: merge.clone(),
            tree,
        });
        self.tell(Event::TaskMerged {
            task,
            commit,
            target: Some(target.clone()),
            summary: None,
        });
        merge
    }
}

fn recorded(seq: u64, event: Event) -> Recorded {
    Recorded {
        run_id: "r-abcdef".into(),
        seq,
        ts_ms: seq,
        v: VERSION,
        event,
    }
}

#[test]
fn dependents_and_what_has_landed_are_refused() {
    let mut story = Story::merged();
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
    let mut story = Story::merged();
    story.tell(Event::RunFinished {
        status: RunStatus::Succeeded,
        exit_code: 0,
    });
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
    let mut story = Story::merged();
    let (cause, text) = (ReturnCause::Rejected, BlobId::from("text"));
    story.tell(Event::TaskReturned {
        task: id("c"),
        cause,
        text,
        onto: None,
    });
    assert_eq!(story.0.rejected_in_result(), [id("c")]);
    let stopped = Event::TaskCancelled {
        task: id("c"),
        message: "stopped".to_owned(),
    };
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
    let mut story = Story::merged();
    let returned = |cause| Event::TaskReturned {
        task: id("a"),
        cause,
        text: BlobId::from("text"),
        onto: None,
    };
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
    let failed = |cause| Event::TaskFailed {
        task: id("a"),
        cause,
        message: String::new(),
    };
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
    events.into_iter().for_each(|event| story.tell(event));
    let record = story.0.task(&id("a")).unwrap();
    assert_eq!(
        (record.state(), record.commit(), stale(&story)),
        (TaskState::Merged, Some(&oid("a work")), false)
    );
    assert!(story.0.rejected_in_result().is_empty());
    assert_eq!(outcome(&story.0), Some((RunStatus::Succeeded, 0)));
}
