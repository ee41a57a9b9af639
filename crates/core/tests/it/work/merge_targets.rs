//! What is merged into the branch of an agent: when, in which order, and what becomes of what is
//! not.

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{Event, RunStatus, VerifyScope};
use orchestrate_core::messages::{Envelope, Sender};
use orchestrate_core::record::HandOver;
use orchestrate_core::run::outcome;
use orchestrate_core::run::request::Decision;
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{
    AgentId, Blocker, DroppedTasks, GivenUp, LandingConcern, Liveness, MergeStep, MergeTarget, Oid,
    Request, RequestRefused, ReviewMode, RunSettings, Task, TaskId, TaskState, Wait, WorkStep,
};

use crate::facts::{
    added, cancelled, failed, finished, merge_prepared, merged, prepared, ready, review_approved,
    review_requested, snapshot, spawned, task, woken,
};
use crate::story::Story;

/// Tells of agents that are all at work in prepared worktrees; each comes with the one that spawned
/// it.
fn agents(settings: RunSettings, tasks: &[(&str, Option<&str>)]) -> Story {
    let mut story = Story::begun(settings);
    for (name, parent) in tasks {
        story.add(task(name, &[]), *parent);
    }
    story
}

impl Story {
    fn add(&mut self, task: Task, parent: Option<&str>) {
        let name = task.id.clone();
        self.tell(added(task, parent)).tell(ready(name.clone()));
        self.begin_in_worktree(&name);
    }

    fn begin_in_worktree(&mut self, task: &TaskId) {
        let record = self.0.task(task).unwrap();
        let mut begins = spawned(task.clone(), record.attempt() + 1);
        if let Event::AgentSpawned { base, .. } = &mut begins {
            *base = self.0.target_tip(record).clone();
        }
        self.tell(begins).tell(prepared(task.clone()));
    }

    fn wait_for(&mut self, waiter: &str, ids: &[&str]) {
        self.wait_until(waiter, ids, None);
    }

    fn wait_until(&mut self, waiter: &str, ids: &[&str], until_ms: Option<u64>) {
        let wait = Wait::Agents {
            ids: ids.iter().map(|id| TaskId::from(*id)).collect(),
            until_ms,
        };
        self.tell(Event::AgentWaiting {
            task: waiter.into(),
            turn: 1,
            call_id: "c1".into(),
            wait,
        });
    }

    /// Begins the merge that is next.
    fn begin_merge(&mut self) {
        let Some(MergeStep::Merge {
            task,
            into,
            target,
            candidate,
        }) = self.0.next_merge()
        else {
            unreachable!("nothing to merge: {:?}", self.0.next_merge());
        };
        self.tell(Event::MergeStarted {
            task,
            into,
            target,
            candidate,
        });
    }

    /// Carries out the merge that is next, and returns what was merged into what.
    fn merge_next(&mut self, commit: &str) -> String {
        self.begin_merge();
        let task = self.0.merges.current().unwrap().clone();
        let prepared = merge_prepared(task, commit, "merged");
        self.tell(prepared);
        let Some(MergeStep::Advance {
            task,
            into,
            commit,
            target,
        }) = self.0.next_merge()
        else {
            unreachable!("{:?}", self.0.next_merge());
        };
        let shown = format!(
            "{task} into {} at {target}",
            into.agent().map_or("the result", |agent| agent.as_str())
        );
        self.tell(merged(task, commit, target));
        shown
    }

    fn wake(&mut self, task: &str) {
        assert_eq!(self.0.due_facts(), [woken(task, false)]);
        self.tell(woken(task, false));
    }

    fn returned(&mut self, task: &str, cause: ReturnCause, onto: Option<&str>) {
        let (text, onto) = ("text".into(), onto.map(Oid::from));
        self.tell(Event::TaskReturned {
            task: task.into(),
            cause,
            text,
            onto,
        });
    }

    fn fail_check(&mut self, task: &str) {
        self.tell(failed(task, FailureCause::Check, ""));
    }

    fn work_of(&self, task: &str) -> Option<WorkStep> {
        self.record(task).next_work()
    }

    fn tip_of(&self, task: &str) -> &str {
        self.record(task).tip().unwrap().as_str()
    }
}

fn message_to(task: &str) -> Event {
    Event::MessageSent {
        envelope: Envelope::note(1, Sender::User, task, "stop"),
    }
}

fn family() -> Story {
    agents(
        RunSettings::default(),
        &[("p", None), ("a", Some("p")), ("b", Some("p"))],
    )
}

#[test]
fn children_are_merged_into_their_parent_while_it_waits() {
    let mut story = family();
    story.hand_over("a", "a1");
    assert_eq!(
        (story.0.next_merge(), story.0.due_facts()),
        (None, Vec::new())
    );
    story.wait_for("p", &["a", "b"]);
    assert_eq!(story.merge_next("m1"), "a into p at base");
    assert_eq!(
        (
            story.tip_of("p"),
            story.0.integration.as_str(),
            story.0.due_facts()
        ),
        ("m1", "base", Vec::new())
    );
    story.hand_over("b", "b1");
    assert_eq!(story.merge_next("m2"), "b into p at m1");
    story.wake("p");
    // The files follow, however many merges there were, before anything else is done.
    let brings = WorkStep::BringFiles {
        from: "base".into(),
        to: "m2".into(),
    };
    assert_eq!(story.work_of("p"), Some(brings));
    story.tell(Event::WorktreePrepared {
        task: "p".into(),
        onto: Some("m2".into()),
    });
    assert_eq!(story.work_of("p"), Some(WorkStep::Drive));
    assert!(
        !story.0.is_in_result(story.0.task(&"a".into()).unwrap())
            && story.0.newly_merged().is_empty()
    );
    story.hand_over("p", "p1");
    assert_eq!(story.merge_next("m3"), "p into the result at base");
    assert_eq!(
        (story.0.integration.as_str(), story.0.newly_merged().len()),
        ("m3", 3)
    );
    assert_eq!(outcome(&story.0), Some((RunStatus::Succeeded, 0)));
}

#[test]
fn a_worktree_that_is_gone_begins_with_what_was_merged() {
    let mut story = family();
    story.wait_for("p", &["a"]);
    story.hand_over("a", "a1");
    story.merge_next("m1");
    story.wake("p");
    story.tell(Event::WorktreeRemoved { task: "p".into() });
    assert_eq!(story.work_of("p"), Some(WorkStep::SetUp));
    story.tell(prepared("p"));
    assert_eq!(story.work_of("p"), Some(WorkStep::Drive));
}

/// A snapshot of a task's worktree beside its branch.
fn kept(task: &str, commit: &str) -> Event {
    let mut taken = snapshot(task, commit, "tree");
    if let Event::SnapshotTaken { on_branch, .. } = &mut taken {
        *on_branch = false;
    }
    taken
}

/// Returns the commit whose files a task's worktree begins with when it is made again.
fn lost(story: &Story, task: &str) -> Option<Oid> {
    story.0.task(&task.into()).unwrap().lost_files().cloned()
}

/// Files that were not committed are brought back, unless the branch has them, or they are older
/// than what was merged.
#[test]
fn a_worktree_that_is_gone_begins_with_the_newest_snapshot() {
    let mut story = family();
    story.tell(kept("a", "kept"));
    assert_eq!(lost(&story, "a"), None);
    story.tell(Event::WorktreeRemoved { task: "a".into() });
    assert_eq!(lost(&story, "a"), Some("kept".into()));
    story.tell(prepared("a"));
    story.hand_over("a", "a1");
    story.wait_for("p", &["a"]);
    story.tell(kept("p", "before"));
    story.merge_next("m1");
    story.tell(kept("p", "behind"));
    story.tell(Event::WorktreeRemoved { task: "p".into() });
    assert_eq!((story.tip_of("p"), lost(&story, "p")), ("m1", None));
}

/// The files of the attempt before are stored when its worktree is about to be replaced; a run that
/// is resumed then does not bring them back, nor does a worktree that is gone later.
#[test]
fn a_new_attempt_does_not_begin_with_the_files_that_it_replaces() {
    let mut story = family();
    story.tell(kept("a", "before"));
    story.returned("a", ReturnCause::Rejected, None);
    let mut again = spawned("a", 2);
    if let Event::AgentSpawned { base, .. } = &mut again {
        *base = "m1".into();
    }
    let mut stored = kept("a", "replaced");
    if let Event::SnapshotTaken { replaced, .. } = &mut stored {
        *replaced = true;
    }
    story.tell(again).tell(stored);
    let record = story.0.task(&"a".into()).unwrap();
    assert_eq!(record.newest_work(), Some(&Oid::from("m1")));
    assert_eq!(lost(&story, "a"), None);
    story.tell(prepared("a"));
    story.tell(Event::WorktreeRemoved { task: "a".into() });
    assert_eq!(lost(&story, "a"), None);
    story.tell(prepared("a")).tell(kept("a", "own"));
    story.tell(Event::WorktreeRemoved { task: "a".into() });
    assert_eq!(lost(&story, "a"), Some("own".into()));
}

#[test]
fn three_levels_are_merged_upwards() {
    let mut story = agents(
        RunSettings::default(),
        &[("p", None), ("c", Some("p")), ("g", Some("c"))],
    );
    story.wait_for("p", &["c"]);
    story.wait_for("c", &["g"]);
    story.hand_over("g", "g1");
    assert_eq!(story.merge_next("m1"), "g into c at base");
    story.wake("c");
    story.hand_over("c", "c1");
    assert_eq!(story.merge_next("m2"), "c into p at base");
    story.wake("p");
    story.hand_over("p", "p1");
    assert_eq!(story.merge_next("m3"), "p into the result at base");
    assert!(story.0.tasks().all(|record| story.0.is_in_result(record)));
}

#[test]
fn how_a_run_merges_is_said_of_its_result_alone() {
    for merge in [MergeMode::Auto, MergeMode::Review, MergeMode::None] {
        let settings = RunSettings {
            merge,
            ..RunSettings::default()
        };
        let reviewed = Task {
            id: "b".into(),
            review: Some(ReviewMode::Always),
            ..Task::default()
        };
        let mut story = agents(settings, &[("p", None), ("a", Some("p"))]);
        story.add(reviewed, Some("p"));
        story.hand_over("a", "a1");
        story.hand_over("b", "b1");
        let asks = |task: &str| review_requested(task);
        assert_eq!(story.0.due_facts(), [asks("b")], "{merge:?}");
        story.tell(asks("b"));
        story.wait_for("p", &["a", "b"]);
        assert_eq!(story.merge_next("m1"), "a into p at base", "{merge:?}");
        // Work that waits for a person is done as far as it can be.
        story.wake("p");
        assert_eq!(
            story.0.decide_hand_over(&"p".into()),
            HandOver::AfterChildren(Box::new(hands_over("p"))),
            "{merge:?}"
        );
        story.tell(review_approved("b", "tree of b1"));
        story.tell(hands_over("p"));
        assert_eq!(story.merge_next("m2"), "b into p at m1", "{merge:?}");
        story.wake("p");
        story.returned("p", ReturnCause::ChildrenEnded, None);
        story.hand_over("p", "p1");
        let due = story.0.due_facts();
        assert_eq!(
            due,
            if merge == MergeMode::Review {
                vec![asks("p")]
            } else {
                Vec::new()
            },
            "{merge:?}"
        );
        assert_eq!(
            story.0.next_merge().is_some(),
            merge == MergeMode::Auto,
            "{merge:?}"
        );
    }
}

fn hands_over(task: &str) -> Event {
    Event::HandOverWaiting { task: task.into() }
}

#[test]
fn an_agent_that_has_finished_waits_for_its_children_and_is_told_once() {
    let mut story = family();
    let decided = |story: &Story| story.0.decide_hand_over(&"p".into());
    assert_eq!(
        decided(&story),
        HandOver::AfterChildren(Box::new(hands_over("p")))
    );
    story.hand_over("a", "a1");
    story.fail_check("b");
    assert_eq!(
        decided(&story),
        HandOver::AfterChildren(Box::new(hands_over("p")))
    );
    story.tell(hands_over("p"));
    assert_eq!(
        (story.state_of("p"), story.work_of("p"), outcome(&story.0)),
        (TaskState::Waiting, None, None)
    );
    story.merge_next("m1");
    story.wake("p");
    story.tell(message_to("p"));
    assert_eq!(decided(&story), HandOver::AfterMessages);
    let (from, to) = (Sender::User, AgentId::from("p"));
    story.tell(Event::MessageDelivered {
        from,
        to,
        sequence: 1,
        expired: false,
    });
    assert_eq!(decided(&story), HandOver::AfterNews);
    story.returned("p", ReturnCause::ChildrenEnded, None);
    assert_eq!(
        (decided(&story), story.0.task(&"p".into()).unwrap().rounds()),
        (HandOver::Now, 0)
    );
    // One that its parent has waited for itself needs no news.
    assert_eq!(family().0.decide_hand_over(&"a".into()), HandOver::Now);
}

#[test]
fn a_message_ends_the_wait_of_a_finished_agent() {
    let mut story = family();
    story.tell(hands_over("p"));
    story.tell(message_to("p"));
    story.wake("p");
    let (from, to) = (Sender::User, AgentId::from("p"));
    story.tell(Event::MessageDelivered {
        from,
        to,
        sequence: 1,
        expired: false,
    });
    assert_eq!(
        story.0.decide_hand_over(&"p".into()),
        HandOver::AfterChildren(Box::new(hands_over("p")))
    );
}

/// Work that another child has changed, too, goes back with what the parent has, and ends by its
/// rounds.
#[test]
fn a_conflict_between_siblings_goes_back_so_often_and_is_a_result() {
    let mut story = agents(
        RunSettings {
            merge_rounds: 1,
            ..RunSettings::default()
        },
        &[("p", None), ("a", Some("p")), ("b", Some("p"))],
    );
    story.wait_for("p", &["a", "b"]);
    story.hand_over("a", "a1");
    story.merge_next("m1");
    let conflicted = || Event::MergeConflicted {
        task: "b".into(),
        files: vec!["x".to_owned()],
    };
    story.hand_over("b", "b1");
    story.begin_merge();
    story.tell(conflicted());
    let Some(MergeStep::Return {
        task, cause, onto, ..
    }) = story.0.next_merge()
    else {
        unreachable!("no return")
    };
    assert_eq!(
        (task.as_str(), cause, onto.as_str()),
        ("b", ReturnCause::Conflict, "m1")
    );
    story.returned("b", ReturnCause::Conflict, Some("m1"));
    assert_eq!(
        story.work_of("b"),
        Some(WorkStep::MergeInto { onto: "m1".into() })
    );
    story.hand_over("b", "b2");
    story.begin_merge();
    story.tell(conflicted());
    let Some(MergeStep::GiveUp { end, .. }) = story.0.next_merge() else {
        unreachable!("not given up")
    };
    assert_eq!(
        (end, story.0.due_facts()),
        (GivenUp::Conflicted, Vec::new())
    );
    let message = "conflicts in x".to_owned();
    story.tell(Event::TaskConflicted {
        task: "b".into(),
        cause: ReturnCause::Conflict,
        message,
    });
    story.wake("p");
    assert_eq!((story.0.next_merge(), story.tip_of("p")), (None, "m1"));
    assert_eq!(story.0.decide_hand_over(&"p".into()), HandOver::Now);
}

/// The run's check decides about a tree once, for whichever branch it is.
#[test]
fn a_checked_tree_is_not_checked_again_on_the_way_up() {
    let settings = RunSettings {
        verify: Some("check".to_owned()),
        verify_base: false,
        ..RunSettings::default()
    };
    let mut story = agents(settings, &[("p", None), ("a", Some("p"))]);
    story.wait_for("p", &["a"]);
    story.hand_over("a", "a1");
    story.begin_merge();
    story.tell(merge_prepared("a", "m1", "tree of p1"));
    let command = "check".to_owned();
    let check = MergeStep::Verify {
        task: "a".into(),
        commit: "m1".into(),
        tree: "tree of p1".into(),
        command,
    };
    assert_eq!(story.0.next_merge(), Some(check));
    let scope = VerifyScope::Run;
    let tree = Oid::from("tree of p1");
    let command = "check".to_owned();
    let (passed, exit, output) = (true, String::new(), "output".into());
    story.tell(Event::VerifyFinished {
        task: "a".into(),
        scope,
        tree,
        command,
        passed,
        exit,
        output,
        duration_ms: 1,
    });
    assert!(matches!(
        story.0.next_merge(),
        Some(MergeStep::Advance { .. })
    ));
    story.tell(Event::TaskMerged {
        task: "a".into(),
        commit: Some("m1".into()),
        target: None,
        summary: None,
    });
    story.wake("p");
    story.hand_over("p", "p1");
    story.begin_merge();
    story.tell(merge_prepared("p", "m2", "tree of p1"));
    assert!(matches!(
        story.0.next_merge(),
        Some(MergeStep::Advance { .. })
    ));
}

#[test]
fn nothing_wakes_an_agent_while_its_branch_is_merged_into() {
    let mut story = family();
    story.wait_until("p", &["a", "b"], Some(60_000));
    let expiry = story.0.next_expiry().unwrap();
    story.hand_over("a", "a1");
    story.begin_merge();
    story.tell(message_to("p"));
    assert_eq!(
        (
            story.0.due_facts(),
            story.0.next_expiry(),
            story.0.decide_expiry(&expiry)
        ),
        (vec![], None, vec![])
    );
    story.tell(merge_prepared("a", "m1", "merged"));
    story.tell(Event::TaskMerged {
        task: "a".into(),
        commit: Some("m1".into()),
        target: None,
        summary: None,
    });
    assert_eq!(story.0.next_expiry().map(|next| next.of), Some(expiry.of));
    story.wake("p");
}

#[test]
fn work_that_no_branch_takes_is_kept_and_ends() {
    for end in [cancelled("p", ""), failed("p", FailureCause::Check, "")] {
        let mut story = family();
        story.wait_for("p", &["a", "b"]);
        story.hand_over("a", "a1");
        story.begin_merge();
        story.tell(end);
        assert_eq!(
            (story.0.merges.current(), story.0.next_merge()),
            (None, None)
        );
        let message =
            "agent p, which spawned it, has ended without success; its work is kept on the branch \
                       orchestrate/r-abcdef/"
                .to_owned();
        let cancelled = |task: &str| cancelled(task, &format!("{message}{task}"));
        // The other one still has a worker.
        assert_eq!(story.0.due_facts(), [cancelled("a")]);
        story.tell(cancelled("a"));
        story.hand_over("b", "b1");
        assert_eq!(story.0.due_facts(), [cancelled("b")]);
        story.tell(cancelled("b"));
        let retry = |task: &str| {
            story.0.decide(&Request::Retry {
                task: task.into(),
                message: None,
            })
        };
        let parent = TaskId::from("p");
        let refused = RequestRefused::ParentEnded {
            task: "a".into(),
            parent: parent.clone(),
            first: Some(parent),
        };
        assert_eq!(retry("a"), Err(refused));
        assert!(matches!(retry("p").unwrap().decision, Decision::Return(_)));
        // A parent that is tried again takes the work of its children again.
        story.returned("p", ReturnCause::Retried, None);
        story.begin_in_worktree(&"p".into());
        assert!(
            story
                .0
                .decide(&Request::Retry {
                    task: "a".into(),
                    message: None
                })
                .is_ok()
        );
    }
}

#[test]
fn a_child_of_merged_work_is_merged_where_that_went() {
    let mut story = family();
    story.wait_for("p", &["a"]);
    story.fail_check("b");
    story.hand_over("a", "a1");
    story.merge_next("m1");
    story.wake("p");
    story.hand_over("p", "p1");
    story.merge_next("m2");
    story.returned("b", ReturnCause::Retried, None);
    story.begin_in_worktree(&"b".into());
    assert_eq!(
        story.0.task(&"b".into()).unwrap().base().unwrap().as_str(),
        "m2"
    );
    story.hand_over("b", "b1");
    assert_eq!(story.merge_next("m3"), "b into the result at m2");
}

#[test]
fn older_journals_merge_children_into_the_result() {
    let mut story = family();
    story.hand_over("a", "a1");
    let started = serde_json::json!({"type": "merge.started", "task": "a", "target": "base", "candidate": "a1"});
    let started: Event = serde_json::from_value(started).unwrap();
    let into = MergeTarget::Agent("p".into());
    // Nothing is merged into an agent at work.
    let refused = Event::MergeStarted {
        task: "a".into(),
        into,
        target: "base".into(),
        candidate: "a1".into(),
    };
    assert!(story.try_tell(refused).is_err());
    story.tell(started);
    story.tell(merge_prepared("a", "m1", "merged"));
    story.tell(Event::TaskMerged {
        task: "a".into(),
        commit: Some("m1".into()),
        target: None,
        summary: None,
    });
    assert_eq!(
        (story.0.integration.as_str(), story.tip_of("p")),
        ("m1", "base")
    );
}

#[test]
fn the_work_of_children_is_dropped_with_that_of_their_parent() {
    let mut story = agents(
        RunSettings::default(),
        &[("p", None), ("c", Some("p")), ("g", Some("c")), ("x", None)],
    );
    story.wait_for("p", &["c"]);
    story.wait_for("c", &["g"]);
    for (task, merge) in [("g", "m1"), ("c", "m2"), ("p", "m3")] {
        story.hand_over(task, &format!("{task}1"));
        story.merge_next(merge);
        if task != "p" {
            story.wake(if task == "g" { "c" } else { "p" });
        }
    }
    // The highest agent is named, since dropping the one between would be refused as well.
    let within = RequestRefused::WithinParent {
        task: "g".into(),
        parent: "p".into(),
    };
    assert_eq!(story.0.decide_drop(&"g".into(), true), Err(within.clone()));
    // What was done again is merged into the result, which still contains the first attempt.
    story.returned("g", ReturnCause::Rejected, None);
    assert_eq!(story.0.rejected_in_result(), ["g".into()]);
    story.begin_in_worktree(&"g".into());
    story.hand_over("g", "g2");
    assert_eq!(story.merge_next("m4"), "g into the result at m3");
    assert_eq!(story.0.decide_drop(&"g".into(), true), Err(within));
    let dropped = story.0.decide_drop(&"p".into(), false).unwrap();
    assert_eq!(
        dropped.iter().map(TaskId::as_str).collect::<Vec<_>>(),
        ["p", "c", "g"]
    );
    let (target, commit) = (story.0.integration.clone(), Oid::from("base"));
    story.tell(Event::TasksDropped(DroppedTasks {
        tasks: dropped,
        target,
        commit,
        merges: Default::default(),
    }));
    assert!(story.0.newly_merged().is_empty() && story.0.rejected_in_result().is_empty());
    // The branch of the parent holds the first attempt of g, which was rejected.
    let retry = story.0.decide(&Request::Retry {
        task: "p".into(),
        message: None,
    });
    assert_eq!(
        retry,
        Err(RequestRefused::HoldsDropped {
            task: "p".into(),
            agents: vec!["c".into()]
        })
    );
    // So no retry of an agent above it lets g continue.
    for (task, parent) in [("g", "c"), ("c", "p")] {
        let retry = story.0.decide(&Request::Retry {
            task: task.into(),
            message: None,
        });
        let refused = RequestRefused::ParentEnded {
            task: task.into(),
            parent: parent.into(),
            first: None,
        };
        assert_eq!(
            (retry, story.0.actions(&task.into())),
            (Err(refused), vec![])
        );
    }
}

#[test]
fn a_dropped_agent_that_holds_dropped_work_is_offered_no_retry() {
    let mut story = agents(
        RunSettings::default(),
        &[("q", None), ("p", Some("q")), ("c", Some("p"))],
    );
    story.wait_for("p", &["c"]);
    story.hand_over("c", "c1");
    story.merge_next("m1");
    story.wake("p");
    story.hand_over("p", "p1");
    story.tell(finished(RunStatus::Interrupted, 130));
    let tasks = story.0.decide_drop(&"p".into(), false).unwrap();
    let target = story.0.integration.clone();
    let commit = target.clone();
    story.tell(Event::TasksDropped(DroppedTasks {
        tasks,
        target,
        commit,
        merges: Default::default(),
    }));
    assert!(story.0.is_left_out(story.0.task(&"p".into()).unwrap()));
    assert!(story.0.actions(&"p".into()).is_empty());
}

#[test]
fn work_that_an_ended_parent_holds_is_not_in_the_result() {
    let mut story = family();
    story.wait_for("p", &["a"]);
    story.hand_over("a", "a1");
    assert_eq!(
        story.0.liveness(story.0.task(&"a".into()).unwrap(), true),
        Liveness::BlockedOn(Blocker::Merge)
    );
    story.merge_next("m1");
    story.wake("p");
    story.hand_over("b", "b1");
    let held = |story: &Story, task: &str| {
        story
            .0
            .held_by(story.0.task(&task.into()).unwrap())
            .cloned()
    };
    let parent = || vec!["p".into()];
    let blocked = Liveness::BlockedOn(Blocker::Agents(parent()));
    assert_eq!(
        story.0.liveness(story.0.task(&"b".into()).unwrap(), true),
        blocked
    );
    assert_eq!(held(&story, "a"), None);
    story.fail_check("p");
    assert_eq!(
        (held(&story, "a"), held(&story, "b")),
        (Some("p".into()), None)
    );
    let concern = |task: &str| story.0.landing_concern(story.0.task(&task.into()).unwrap());
    assert_eq!(concern("a"), Some(LandingConcern::HeldBy("p".into())));
    assert_eq!(concern("p"), Some(LandingConcern::NotInResult));
}

#[test]
fn a_child_that_a_person_decides_about_holds_its_parent_until_then() {
    let mut story = family();
    story.tell(cancelled("b", ""));
    story.tell(hands_over("p"));
    let (tool, summary, rule) = ("tool".to_owned(), "new".to_owned(), "ask".to_owned());
    let (call, call_id, arguments) = ("hash".into(), "c1".into(), serde_json::Value::Null);
    story.tell(Event::ApprovalRequested {
        task: "a".into(),
        call,
        call_id,
        tool,
        summary,
        arguments,
        rule,
    });
    assert_eq!(outcome(&story.0), Some((RunStatus::NeedsHuman, 3)));
    let call = "hash".into();
    story.tell(Event::ApprovalDecided {
        call,
        allowed: true,
        message: None,
        by: None,
    });
    assert_eq!(story.0.workable(), [TaskId::from("a")]);
}
