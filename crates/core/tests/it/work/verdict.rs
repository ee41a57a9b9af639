//! Reviews by tasks: when they start, what they hold back, and what a verdict does.

use orchestrate_core::event::{Event, RunStatus};
use orchestrate_core::run::outcome;
use orchestrate_core::run::request::Request;
use orchestrate_core::task::{FailureCause, ReturnCause, TaskStatus};
use orchestrate_core::{
    Action, AfterFault, AfterReview, BlobId, DroppedTasks, GivenUp, MergeStep, Oid,
    RequestedChange, ReviewVerdict, RunSettings, Task, TaskId, TaskState, VerdictEnd, VerdictKind,
    VerdictRefused,
};

use crate::facts::{
    cancelled, ended, failed, merge_prepared, merge_started, merged, ready, returned, task,
};
use crate::story::Story;

fn id(text: &str) -> TaskId {
    TaskId::from(text)
}

/// Begins a run of tasks from lines `id: depends < after`; tasks whose names begin with `r` review,
/// and a `-` before the name cancels a task in the plan.
fn run_of(plan: &str) -> Story {
    let mut story = Story::begun(RunSettings::default());
    for line in plan.split(';') {
        let (name, waits) = line.split_once(':').unwrap_or((line, ""));
        let (depends, after) = waits.split_once('<').unwrap_or((waits, ""));
        let (name, status) = match name.trim().strip_prefix('-') {
            Some(name) => (name, TaskStatus::Cancelled),
            None => (name.trim(), TaskStatus::Todo),
        };
        let depends: Vec<_> = depends.split_whitespace().collect();
        story.tell(Event::planned(Task {
            after: after.split_whitespace().map(TaskId::from).collect(),
            verdict: name.starts_with('r'),
            status,
            ..task(name, &depends)
        }));
    }
    story
}

impl Story {
    /// Starts the next attempt of a task that is ready.
    fn start(&mut self, task: &str) -> &mut Self {
        self.due();
        let attempt = self.record(task).attempt() + 1;
        self.tell(Event::AgentSpawned {
            task: id(task),
            attempt,
            agent: None,
            model: None,
            branch: format!("orchestrate/r-abcdef/{task}"),
            base: "base".into(),
            spec: None,
            sends: None,
        })
    }

    fn give(&mut self, task: &str, verdict: &ReviewVerdict) -> &mut Self {
        let given = self.0.decide_verdict(&id(task), verdict).unwrap();
        self.tell(given)
    }

    /// Records a verdict and what follows from it.
    fn end(&mut self, task: &str, verdict: &ReviewVerdict) -> &mut Self {
        self.give(task, verdict);
        let task = id(task);
        match self.0.verdict_end(&task).unwrap() {
            VerdictEnd::Approve => self.tell(ended(task)),
            VerdictEnd::NothingToDo => self.tell(Event::NothingToDo {
                task,
                summary: String::new(),
            }),
            VerdictEnd::Await(after) => {
                self.tell(Event::ReviewWaiting { task });
                for AfterReview { change, after } in after {
                    self.tell(match after {
                        AfterFault::Return => returned(change.task, ReturnCause::ChangesRequested),
                        AfterFault::GiveUp(_) => {
                            failed(change.task, FailureCause::ChangesRequested, "")
                        }
                    });
                }
                self
            }
        }
    }

    /// Merges everything that may be merged, and returns it.
    fn merge_all(&mut self) -> String {
        let mut names = Vec::new();
        while let Some(MergeStep::Merge {
            task,
            target,
            candidate,
            ..
        }) = self.0.next_merge()
        {
            let commit = Oid::new(format!("merge of {task}"));
            names.push(task.to_string());
            self.tell(merge_started(task.clone(), target.clone(), candidate))
                .tell(merge_prepared(task.clone(), commit.clone(), "merged"))
                .tell(merged(task, commit, target));
        }
        names.join(" ")
    }

    /// Returns the due events, in words.
    fn due_words(&self) -> String {
        let words = self.0.due_facts().into_iter().map(|due| match due {
            Event::TaskReady { task } => task.to_string(),
            Event::TaskSkipped { task, because } => format!("{task}({because})"),
            other => format!("{other:?}"),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    fn request(&mut self, request: &Request) -> &mut Self {
        use orchestrate_core::run::request::Decision;
        match self.0.decide(request).unwrap().decision {
            Decision::Record(events) => self.tell_all(events),
            Decision::Return(again) => {
                let tasks = again.tasks.into_iter();
                self.tell_all(tasks.map(|task| returned(task, again.cause)))
            }
            Decision::Adopt(_) | Decision::Stop => self,
        }
    }
}

fn approve() -> ReviewVerdict {
    ReviewVerdict {
        verdict: VerdictKind::Approve,
        changes: Vec::new(),
        comment: None,
    }
}

fn changes(of: &[&str]) -> ReviewVerdict {
    let changes = of
        .iter()
        .map(|task| RequestedChange {
            task: id(task),
            text: "mend it".to_owned(),
        })
        .collect();
    ReviewVerdict {
        verdict: VerdictKind::Changes,
        changes,
        comment: None,
    }
}

fn nothing() -> ReviewVerdict {
    ReviewVerdict {
        verdict: VerdictKind::NothingToDo,
        ..approve()
    }
}

/// Builds a run in which `r` reviews `a` and `b`, up to its start.
fn reviewing() -> Story {
    let mut story = run_of("a; b; r: a b; x: r");
    story.start("a").hand_over("a", "a1");
    assert_eq!(
        (story.merge_all().as_str(), story.due_words().as_str()),
        ("", "")
    );
    story.start("b").hand_over("b", "b1");
    assert_eq!(
        (story.merge_all().as_str(), story.due_words().as_str()),
        ("", "r")
    );
    story.start("r");
    story
}

#[test]
fn what_a_task_reviews() {
    let table = [
        ("a; b; r: a b", "a b"),
        ("a; b; r: a < b", "a"),
        // The author's order does not keep b from starting: like work that waits for the user, a is
        // set aside.
        ("a; b: < a; r: a b", "a b"),
        // b needs a in the result, and the review needs b.
        ("a; b: a; r: a b", "b"),
        ("a; b: a; c: b; r: a < c", ""),
        // Another review does not need it there.
        ("a; r1: a; r: a r1", "a"),
        ("a; b; r1: a; c: r1; r: a b c", "b c"),
    ];
    for (plan, expected) in table {
        let story = run_of(plan);
        let reviewed: Vec<String> = ["a", "b", "c"]
            .into_iter()
            .filter(|name| story.0.task(&id(name)).is_some())
            .filter(|name| reviewers(plan, name).contains(&"r".to_owned()))
            .map(str::to_owned)
            .collect();
        assert_eq!(reviewed.join(" "), expected, "{plan}");
    }
}

/// Returns the tasks whose verdict a task waits for once its work is done.
fn reviewers(plan: &str, task: &str) -> Vec<String> {
    let mut story = run_of(plan);
    story.tell(ready(task)).start(task).hand_over(task, "work");
    let record = story.0.task(&id(task)).unwrap();
    story
        .0
        .waits_for_verdict_of(record)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn approved_work_is_merged_and_then_what_depends_on_the_review_starts() {
    let mut story = reviewing();
    story.end("r", &approve());
    assert_eq!(
        (story.state_of("r"), story.due_words().as_str()),
        (TaskState::Merged, "")
    );
    assert_eq!(story.merge_all(), "a b");
    assert_eq!(story.due_words(), "x");
}

#[test]
fn changed_work_is_reviewed_again_before_it_is_merged() {
    let mut story = reviewing();
    story.end("r", &changes(&["a"]));
    assert_eq!(
        (
            story.state_of("a"),
            story.state_of("b"),
            story.state_of("r")
        ),
        { (TaskState::Running, TaskState::Verified, TaskState::Pending) }
    );
    assert_eq!(
        (story.merge_all().as_str(), story.due_words().as_str()),
        ("", "")
    );
    story.hand_over("a", "a2");
    assert_eq!(
        (story.merge_all().as_str(), story.due_words().as_str()),
        ("", "r")
    );
    story.start("r").end("r", &approve());
    assert_eq!(story.merge_all(), "a b");
}

#[test]
fn out_of_rounds_the_work_fails_and_the_review_is_skipped() {
    let mut story = reviewing();
    for round in 0..2 {
        story
            .end("r", &changes(&["a"]))
            .hand_over("a", &format!("a{round}"))
            .start("r");
    }
    let mut given = Story(story.0.clone());
    given.give("r", &changes(&["a"]));
    let change = RequestedChange {
        task: id("a"),
        text: "mend it".to_owned(),
    };
    let after = AfterFault::GiveUp(GivenUp::Failed);
    assert_eq!(
        given.0.verdict_end(&id("r")),
        Some(VerdictEnd::Await(vec![AfterReview { change, after }]))
    );
    story.end("r", &changes(&["a"]));
    assert_eq!(story.due_words(), "r(a) x(r)");
    story.due();
    assert_eq!(
        (story.state_of("a"), story.state_of("r")),
        (TaskState::Failed, TaskState::Skipped)
    );
    assert_eq!(
        (story.merge_all().as_str(), outcome(&story.0)),
        ("", Some((RunStatus::Failed, 1)))
    );
    // The user starts another attempt, and the review takes place after all.
    story
        .request(&Request::Retry {
            task: id("a"),
            message: None,
        })
        .start("a")
        .hand_over("a", "a9");
    assert_eq!(
        (story.state_of("x"), story.due_words().as_str()),
        (TaskState::Pending, "r")
    );
    story.start("r").end("r", &approve());
    assert_eq!(story.merge_all(), "a b");
}

#[test]
fn an_approval_holds_for_the_reviewed_trees_only() {
    // Returned by the user during the review.
    let mut story = reviewing();
    story.request(&Request::Reject {
        task: id("a"),
        message: String::new(),
        at: None,
    });
    story.end("r", &approve());
    assert_eq!(
        (story.state_of("r"), story.merge_all().as_str()),
        (TaskState::Pending, "b")
    );
    story.start("a").hand_over("a", "a2");
    assert_eq!(
        (story.merge_all().as_str(), story.due_words().as_str()),
        ("", "r")
    );
    story.start("r").end("r", &approve());
    assert_eq!(story.merge_all(), "a");

    // Returned after the review, because it conflicts.
    let mut story = reviewing();
    story.end("r", &approve());
    let (task, cause, text) = (id("a"), ReturnCause::Conflict, BlobId::from("text"));
    story.tell(Event::TaskReturned {
        task,
        cause,
        text,
        onto: Some("base".into()),
    });
    assert_eq!(
        (story.state_of("r"), story.merge_all().as_str()),
        (TaskState::Pending, "b")
    );
    story.hand_over("a", "a2");
    assert_eq!(
        (story.merge_all().as_str(), story.due_words().as_str()),
        ("", "r")
    );
}

#[test]
fn the_users_word_counts_instead_of_a_verdict() {
    let tree = || Oid::from("tree of a1");
    let mut story = reviewing();
    story.request(&Request::Approve {
        task: id("a"),
        tree: tree(),
    });
    assert_eq!(story.merge_all(), "a");

    // The reviewer fails; the work stays, and is merged once the user has approved it or dropped
    // the review.
    let failed = || failed("r", FailureCause::NoVerdict, "");
    let mut story = reviewing();
    story.tell(failed()).due();
    assert_eq!(
        (story.merge_all().as_str(), outcome(&story.0)),
        ("", Some((RunStatus::Failed, 1)))
    );
    story.request(&Request::Approve {
        task: id("a"),
        tree: tree(),
    });
    assert_eq!(story.merge_all(), "a");
    let dropped = story.0.decide_drop(&id("r"), true).unwrap();
    let (target, commit) = (story.0.integration.clone(), story.0.integration.clone());
    story.tell(Event::TasksDropped(DroppedTasks {
        tasks: dropped,
        target,
        commit,
        merges: [].into(),
    }));
    assert_eq!(story.merge_all(), "b");

    // A verdict is dropped with its task.
    let mut story = reviewing();
    story.end("r", &approve());
    let dropped = story.0.decide_drop(&id("r"), true).unwrap();
    let target = story.0.integration.clone();
    story.tell(Event::TasksDropped(DroppedTasks {
        tasks: dropped,
        commit: target.clone(),
        target,
        merges: [].into(),
    }));
    assert_eq!(story.0.task(&id("r")).unwrap().verdict(), None);

    let mut story = reviewing();
    story.tell(failed()).due().request(&Request::Retry {
        task: id("r"),
        message: None,
    });
    story.start("r").end("r", &approve());
    assert_eq!(story.merge_all(), "a b");
}

#[test]
fn a_verdict_that_does_not_fit_is_refused() {
    let story = reviewing();
    let waiting = || vec![id("a"), id("b")];
    let beside = ReviewVerdict {
        verdict: VerdictKind::Approve,
        ..changes(&["a"])
    };
    let table = [
        ("a", approve(), VerdictRefused::NotAReviewer),
        ("r", changes(&[]), VerdictRefused::NothingRequested),
        ("r", beside, VerdictRefused::RequestedBeside),
        (
            "r",
            changes(&["x"]),
            VerdictRefused::NotWaiting {
                task: id("x"),
                waiting: waiting(),
            },
        ),
        (
            "r",
            nothing(),
            VerdictRefused::SomethingToDo { waiting: waiting() },
        ),
    ];
    for (task, verdict, refused) in table {
        assert_eq!(
            story.0.decide_verdict(&id(task), &verdict),
            Err(refused),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_second_verdict_is_refused_unless_it_requests_changes() {
    let mut story = reviewing();
    story.give("r", &approve());
    assert_eq!(
        story.0.decide_verdict(&id("r"), &approve()),
        Err(VerdictRefused::AlreadyGiven)
    );
    story.give("r", &changes(&["a"]));
    for second in [approve(), changes(&["b"])] {
        assert_eq!(
            story.0.decide_verdict(&id("r"), &second),
            Err(VerdictRefused::AlreadyGiven)
        );
    }
    assert!(
        matches!(story.0.verdict_end(&id("r")), Some(VerdictEnd::Await(after)) if after.len() == 1)
    );
    // In the next attempt it decides anew.
    story.tell(Event::ReviewWaiting { task: id("r") });
    story.start("r").end("r", &approve());
    assert_eq!(story.merge_all(), "a b");
}

#[test]
fn a_reviewer_that_is_stopped_approves_nothing() {
    let stopped = || cancelled("r", "stopped by request");
    let waits = Some((RunStatus::NeedsHuman, 3));
    let mut story = reviewing();
    story.tell(stopped()).due();
    assert_eq!((story.merge_all().as_str(), outcome(&story.0)), ("", waits));
    assert_eq!(story.0.actions(&id("r")), [Action::Retry(id("r"))]);
    // A person decides, or the reviewer does after all.
    story.request(&Request::Approve {
        task: id("a"),
        tree: Oid::from("tree of a1"),
    });
    assert_eq!(story.merge_all(), "a");
    story
        .request(&Request::Retry {
            task: id("r"),
            message: None,
        })
        .start("r")
        .end("r", &approve());
    assert_eq!(story.merge_all(), "b");

    // The plan gives it up, or a person drops it.
    let mut story = reviewing();
    story.tell(stopped()).due();
    let dropped = story.0.decide_drop(&id("r"), true).unwrap();
    assert_eq!(story.0.unreviewed_without(&dropped), [id("a"), id("b")]);
    assert_eq!(story.0.unreviewed_without(&[id("r"), id("a")]), [id("b")]);
    let target = story.0.integration.clone();
    story.tell(Event::TasksDropped(DroppedTasks {
        tasks: dropped,
        commit: target.clone(),
        target,
        merges: [].into(),
    }));
    assert_eq!(story.merge_all(), "a b");
    assert_eq!(reviewers("a; b; -r: a b", "a"), [""; 0]);
}

#[test]
fn nothing_to_do_counts_as_done() {
    let mut story = run_of("a; r: a; x: r; y: a");
    story.start("a").tell(Event::NothingToDo {
        task: id("a"),
        summary: String::new(),
    });
    assert_eq!(story.due_words(), "r y");
    story.start("r").end("r", &nothing());
    assert_eq!(
        (story.state_of("a"), story.state_of("r")),
        (TaskState::NothingToDo, TaskState::NothingToDo)
    );
    assert_eq!(story.due_words(), "x");
    // The user knows better.
    story
        .request(&Request::Reject {
            task: id("a"),
            message: String::new(),
            at: None,
        })
        .start("a")
        .hand_over("a", "a1");
    assert_eq!(
        (story.merge_all().as_str(), story.state_of("r")),
        ("", TaskState::Pending)
    );
}
