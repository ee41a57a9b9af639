//! The fold of a run's events: what follows from them, and what is invalid.

use orchestrate_core::agent::budget::Reservation;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{Event, RunStatus, VerifyScope};
use orchestrate_core::messages::{Envelope, MAILBOX_CAPACITY, Sender};
use orchestrate_core::run::merge_queue::Evidence;
use orchestrate_core::run::outcome;
use orchestrate_core::task::{FailureCause, ReturnCause, TaskStatus, Verify, Work};
use orchestrate_core::{
    BlobId, GivenUp, LeftAside, MergeStep, MergeTarget, Oid, Recorded, Request, RunSettings, Task,
    TaskId, TaskState, Usage, VerifyResult,
};

use crate::facts;
use crate::facts::{
    cancelled, committed, ended, failed, finished, merge_prepared, merge_started, merged, prepared,
    ready, recorded, resumed, returned, review_approved, review_requested, skipped, spawned, task,
    verified,
};
use crate::story::Story;

impl Story {
    /// Brings a task from waiting to committed work.
    fn commit(&mut self, task: &str, commit: &str) -> &mut Self {
        if self.state_of(task) == TaskState::Pending {
            self.tell(ready(task));
        }
        if self.state_of(task) == TaskState::Ready {
            let attempt = self.record(task).attempt() + 1;
            self.tell(spawned(task, attempt));
        }
        self.tell(committed(
            task,
            commit,
            Oid::new(format!("tree of {commit}")),
        ))
    }

    fn merge(&mut self, task: &str, commit: &str) -> &mut Self {
        let Some(MergeStep::Merge {
            task: next,
            target,
            candidate,
            ..
        }) = self.0.next_merge()
        else {
            panic!("nothing to merge: {:?}", self.0.next_merge());
        };
        assert_eq!(next, id(task));
        self.tell(merge_started(next, target.clone(), candidate));
        let prepared = merge_prepared(task, commit, "merged tree");
        let advance = MergeStep::Advance {
            task: id(task),
            into: MergeTarget::Integration,
            commit: oid(commit),
            target: target.clone(),
        };
        assert_eq!(self.0.next_merge_after(&prepared), Some(advance));
        self.tell(prepared);
        self.tell(merged(task, commit, target))
    }
}

fn id(text: &str) -> TaskId {
    TaskId::from(text)
}

fn oid(text: &str) -> Oid {
    Oid::from(text)
}

fn verify_result(passed: bool) -> VerifyResult {
    VerifyResult {
        passed,
        exit: "exit code 1".to_owned(),
        output: BlobId::from("output"),
    }
}

#[test]
fn a_task_is_ready_when_what_it_depends_on_is_merged() {
    let done = Task {
        status: TaskStatus::Done,
        ..task("done", &[])
    };
    let mut story = Story::planned(
        RunSettings::default(),
        vec![task("a", &["done"]), task("b", &["a"]), done],
    );
    assert_eq!(story.0.due_facts(), [ready("a")]);
    story.commit("a", "a1");
    assert_eq!(story.0.due_facts(), []);
    story.merge("a", "m1");
    assert_eq!(story.0.due_facts(), [ready("b")]);
    assert_eq!(story.0.integration, oid("m1"));
}

#[test]
fn what_depends_on_a_failure_is_skipped_and_waits_again_after_a_retry() {
    let mut story = Story::planned(
        RunSettings::default(),
        vec![task("a", &[]), task("b", &["a"]), task("c", &["b"])],
    );
    story.tell(ready("a")).tell(spawned("a", 1));
    story.tell(failed("a", FailureCause::Check, "red"));
    while let Some(due) = story.0.due_facts().first().cloned() {
        story.tell(due);
    }
    let expected = [
        ("a", TaskState::Failed),
        ("b", TaskState::Skipped),
        ("c", TaskState::Skipped),
    ];
    assert_eq!(story.states(), expected);
    assert_eq!(outcome(&story.0), Some((RunStatus::Failed, 1)));
    story.tell(returned("a", ReturnCause::Retried));
    let expected = [
        ("a", TaskState::Ready),
        ("b", TaskState::Pending),
        ("c", TaskState::Pending),
    ];
    assert_eq!(story.states(), expected);
}

#[test]
fn work_that_comes_back_from_merging_lets_nobody_skipped_wait_again() {
    let mut story = Story::planned(
        RunSettings::default(),
        vec![task("a", &[]), task("b", &[]), task("c", &["a", "b"])],
    );
    story.tell(ready("a")).tell(spawned("a", 1));
    story.tell(failed("a", FailureCause::Check, "red"));
    story.tell(skipped("c", "a"));
    story
        .commit("b", "b1")
        .tell(returned("b", ReturnCause::Conflict));
    assert_eq!(story.state_of("c"), TaskState::Skipped);
    let again = story.try_tell(skipped("c", "a")).unwrap_err();
    assert_eq!(again.reason.to_string(), "task c: it is skipped already");
}

#[test]
fn a_skipped_task_lets_nobody_overtake_what_it_comes_after() {
    let after = |name: &str, depends: &[&str], on: &str| Task {
        after: vec![id(on)],
        ..task(name, depends)
    };
    let tasks = vec![
        task("x", &[]),
        task("a", &[]),
        after("b", &["x"], "a"),
        after("c", &[], "b"),
    ];
    let mut story = Story::planned(RunSettings::default(), tasks);
    story.tell(ready("x")).tell(spawned("x", 1));
    story.tell(ready("a")).tell(spawned("a", 1));
    let failed = |task: &str| failed(task, FailureCause::Check, "");
    story.tell(failed("x")).tell(skipped("b", "x"));
    assert_eq!(story.0.due_facts(), []);
    story.tell(failed("a"));
    assert_eq!(story.0.due_facts(), [ready("c")]);
}

#[test]
fn work_that_waits_for_a_person_holds_up_only_what_depends_on_it() {
    let after = Task {
        after: vec![id("a")],
        ..task("b", &[])
    };
    let tasks = || vec![task("a", &[]), after.clone(), task("c", &["a"])];
    for merge in [MergeMode::Review, MergeMode::None] {
        let mut story = Story::planned(
            RunSettings {
                merge,
                ..RunSettings::default()
            },
            tasks(),
        );
        story.commit("a", "a1");
        if merge == MergeMode::Review {
            story.tell(review_requested("a"));
        }
        assert_eq!(story.0.due_facts(), [ready("b")]);
    }
}

#[test]
fn what_stands_before_its_dependency_waits_again_and_grows_stale_too() {
    let tasks = || vec![task("c", &["b"]), task("b", &["a"]), task("a", &[])];
    let mut story = Story::planned(RunSettings::default(), tasks());
    story.tell(ready("a")).tell(spawned("a", 1));
    story.tell(failed("a", FailureCause::Check, "red"));
    while let Some(due) = story.0.due_facts().first().cloned() {
        story.tell(due);
    }
    story.tell(returned("a", ReturnCause::Retried));
    let expected = [
        ("c", TaskState::Pending),
        ("b", TaskState::Pending),
        ("a", TaskState::Ready),
    ];
    assert_eq!(story.states(), expected);

    let mut story = Story::planned(RunSettings::default(), tasks());
    for task in ["a", "b", "c"] {
        story.commit(task, task).merge(task, &format!("m{task}"));
    }
    story.tell(returned("a", ReturnCause::Rejected));
    assert_eq!(
        story
            .0
            .tasks()
            .map(|record| record.is_stale())
            .collect::<Vec<_>>(),
        [true, true, false]
    );
}

#[test]
fn a_red_merged_tree_goes_back_a_bounded_number_of_times() {
    let settings = RunSettings {
        verify: Some("check".to_owned()),
        verify_retries: 0,
        merge_rounds: 1,
        ..RunSettings::default()
    };
    let mut story = Story::planned(settings, vec![task("a", &[])]);
    let tries = || vec![verify_result(false)];
    let evidence = || Evidence::Check {
        command: "check".to_owned(),
        tries: tries(),
        on_target: None,
    };
    for round in 0..2 {
        story.commit("a", &format!("a{round}"));
        let Some(MergeStep::Merge {
            target, candidate, ..
        }) = story.0.next_merge()
        else {
            panic!("no merge")
        };
        story.tell(merge_started("a", target, candidate));
        let tree = format!("merged {round}");
        let prepared = merge_prepared("a", "m", oid(&tree));
        let verify = MergeStep::Verify {
            task: id("a"),
            commit: oid("m"),
            tree: oid(&tree),
            command: "check".to_owned(),
        };
        assert_eq!(story.0.next_merge_after(&prepared), Some(verify.clone()));
        story.tell(prepared);
        assert_eq!(story.0.next_merge(), Some(verify));
        story.tell(verified("a", VerifyScope::Run, tree.as_str(), false));
        let (task, cause, evidence, onto) =
            (id("a"), ReturnCause::RunCheck, evidence(), oid("base"));
        if round == 0 {
            assert_eq!(
                story.0.next_merge(),
                Some(MergeStep::Return {
                    task,
                    cause,
                    onto,
                    evidence
                })
            );
            story.tell(returned("a", ReturnCause::RunCheck));
        } else {
            assert_eq!(
                story.0.next_merge(),
                Some(MergeStep::GiveUp {
                    task,
                    cause,
                    end: GivenUp::Conflicted,
                    evidence
                })
            );
        }
    }
    assert_eq!(story.0.integration, oid("base"));
}

#[test]
fn a_tree_that_was_checked_is_not_checked_again() {
    let settings = RunSettings {
        verify: Some("check".to_owned()),
        ..RunSettings::default()
    };
    let mut story = Story::planned(settings, vec![task("a", &[])]);
    story.commit("a", "a1");
    story.tell(verified("a", VerifyScope::Run, "merged tree", true));
    story.merge("a", "m1");
    assert_eq!(outcome(&story.0), Some((RunStatus::Succeeded, 0)));
}

#[test]
fn a_tree_that_was_checked_for_another_task_says_how_that_check_ended() {
    let settings = || RunSettings {
        verify: Some("check".to_owned()),
        ..RunSettings::default()
    };
    for (passed, expected) in [(true, Verify::Passed), (false, Verify::Failed)] {
        let mut story = Story::planned(settings(), vec![task("a", &[]), task("b", &[])]);
        story
            .commit("b", "b1")
            .tell(verified("b", VerifyScope::Run, "same tree", passed));
        story.commit("a", "a1");
        let merge = |task: &str| merge_started(task, "base", "a1");
        assert_eq!(story.record("a").verify(), Verify::None);
        story.tell(merge("a"));
        story.tell(merge_prepared("a", "m1", "same tree"));
        assert_eq!(story.record("a").verify(), expected);
    }
}

#[test]
fn a_tree_that_was_red_when_merged_stays_red_where_its_author_leaves_it_so() {
    let settings = RunSettings {
        verify: Some("check".to_owned()),
        ..RunSettings::default()
    };
    let mut story = Story::planned(
        settings,
        vec![Task {
            verify: Some("own".to_owned()),
            ..task("a", &[])
        }],
    );
    let seen = |story: &Story| {
        story
            .0
            .task(&id("a"))
            .map(|record| (record.state(), record.verify()))
            .unwrap()
    };
    story
        .commit("a", "a1")
        .tell(verified("a", VerifyScope::Task, "tree of a1", true));
    story
        .tell(verified("a", VerifyScope::Run, "tree of a1", false))
        .tell(returned("a", ReturnCause::RunCheck));
    story.commit("a", "a1");
    assert_eq!(seen(&story), (TaskState::Committed, Verify::Failed));
    story.tell(verified("a", VerifyScope::Task, "tree of a1", true));
    assert_eq!(seen(&story), (TaskState::Verified, Verify::Failed));
    story
        .tell(returned("a", ReturnCause::RunCheck))
        .commit("a", "a2");
    assert_eq!(seen(&story), (TaskState::Committed, Verify::None));
}

#[test]
fn a_rejected_merge_marks_what_was_built_on_it() {
    let mut story = Story::planned(
        RunSettings::default(),
        vec![task("a", &[]), task("b", &["a"]), task("c", &[])],
    );
    story.commit("a", "a1").merge("a", "m1");
    story.commit("b", "b1").merge("b", "m2");
    story.commit("c", "c1").merge("c", "m3");
    story.tell(returned("a", ReturnCause::Rejected));
    let stale: Vec<bool> = story.0.tasks().map(|record| record.is_stale()).collect();
    assert_eq!(stale, [false, true, false]);
}

#[test]
fn review_waits_for_an_approval_of_that_very_tree() {
    let settings = RunSettings {
        merge: MergeMode::Review,
        ..RunSettings::default()
    };
    let mut story = Story::planned(settings, vec![task("a", &[])]);
    story.commit("a", "a1");
    assert_eq!(story.0.next_merge(), None);
    assert_eq!(story.0.due_facts(), [review_requested("a")]);
    story.tell(review_requested("a"));
    assert_eq!(outcome(&story.0), Some((RunStatus::NeedsHuman, 3)));
    story.tell(review_approved("a", "another tree"));
    assert_eq!(story.0.next_merge(), None);
    assert_eq!(story.0.due_facts(), [review_requested("a")]);
    story.tell(review_approved("a", "tree of a1"));
    assert!(matches!(
        story.0.next_merge(),
        Some(MergeStep::Merge { .. })
    ));
}

#[test]
fn a_command_that_comes_back_is_run_again_from_the_tip() {
    let command = Task {
        work: Work::Run("make".to_owned()),
        ..task("a", &[])
    };
    let mut story = Story::planned(RunSettings::default(), vec![command]);
    story.commit("a", "a1");
    story.tell(returned("a", ReturnCause::Conflict));
    let record = story.record("a");
    assert_eq!(
        (record.state(), record.rounds(), record.onto().cloned()),
        (TaskState::Ready, 1, None)
    );
}

#[test]
fn messages_are_counted_and_mailboxes_are_bounded() {
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[]), task("b", &[])]);
    let envelope = |sequence| Envelope::note(sequence, Sender::Agent(id("a")), "b", "hello");
    let refused = |story: &Story, to| {
        story
            .0
            .decide(&Request::message(to, "one more"))
            .unwrap_err()
            .to_string()
    };
    assert!(
        story
            .try_tell(Event::MessageSent {
                envelope: envelope(2)
            })
            .is_err()
    );
    for sequence in 1..=MAILBOX_CAPACITY as u64 {
        story.tell(Event::MessageSent {
            envelope: envelope(sequence),
        });
    }
    let full = refused(&story, "b");
    assert_eq!(
        full,
        "the mailbox of agent 'b' is full (64 messages); wait until it has read some"
    );
    let unknown = refused(&story, "z");
    assert_eq!(
        unknown,
        "there is no agent 'z' in this run; the agents are: a, b"
    );
    let delivered = || Event::MessageDelivered {
        from: Sender::Agent(id("a")),
        to: id("b"),
        sequence: 1,
        expired: false,
    };
    story.tell(delivered());
    assert!(story.try_tell(delivered()).is_err());
    assert!(story.0.decide(&Request::message("b", "one more")).is_ok());
}

#[test]
fn an_agent_that_is_written_to_reads_before_it_hands_its_work_over() {
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    story.tell(ready("a")).tell(spawned("a", 1));
    let (from, to) = (Sender::User, id("a"));
    story.tell(Event::MessageSent {
        envelope: Envelope::note(1, from.clone(), to.clone(), "wait"),
    });
    let committed = || committed("a", "a1", "tree of a1");
    let report = ended("a");
    for handed_over in [committed(), report] {
        let refused = story.try_tell(handed_over).unwrap_err().reason;
        assert_eq!(
            refused.to_string(),
            "task a: a message waits for its agent, which has to read it first"
        );
    }
    story
        .tell(Event::MessageDelivered {
            from,
            to,
            sequence: 1,
            expired: false,
        })
        .tell(committed());
    assert_eq!(
        story
            .0
            .decide(&Request::message("a", "too late"))
            .unwrap_err()
            .to_string(),
        "agent 'a' is verified and reads no more messages"
    );
}

#[test]
fn impossible_facts_are_refused_and_say_why() {
    let fresh = || Story::planned(RunSettings::default(), vec![task("a", &[])]);
    let table: [(Event, &str); 7] = [
        (
            snapshot("a", "a1"),
            "run r-abcdef: fact 3 (snapshot.taken) is impossible: task a: it is pending",
        ),
        (
            spawned("a", 1),
            "run r-abcdef: fact 3 (agent.spawned) is impossible: task a: it is pending",
        ),
        (
            spawned("z", 1),
            "run r-abcdef: fact 3 (agent.spawned) is impossible: there is no task z",
        ),
        (
            Event::planned(task("a", &[])),
            "run r-abcdef: fact 3 (task.added) is impossible: it would add a second task `a`",
        ),
        (
            Event::planned(task("b", &["b"])),
            "run r-abcdef: fact 3 (task.added) is impossible: it would order tasks that depend on each other: b → b",
        ),
        (
            Event::MergeConflicted {
                task: id("a"),
                files: Vec::new(),
            },
            "run r-abcdef: fact 3 (merge.conflicted) is impossible: no merge of a is in progress",
        ),
        (
            Event::ModelReplied {
                task: id("a"),
                turn: 1,
                reply: BlobId::from("x"),
                usage: Usage::default(),
                micro_usd: None,
                stop: orchestrate_core::StopReason::EndTurn,
            },
            "run r-abcdef: fact 3 (model.replied) is impossible: task a: it is pending",
        ),
    ];
    for (event, expected) in table {
        assert_eq!(fresh().try_tell(event).unwrap_err().to_string(), expected);
    }
    let gap = fresh().0.apply(&recorded(9, ready("a")));
    assert_eq!(
        gap.unwrap_err().to_string(),
        "run r-abcdef: fact 9 (task.ready) is impossible: fact 2 is the newest"
    );
}

#[test]
fn a_task_that_failed_before_its_first_attempt_can_only_be_tried_again() {
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    let cause = FailureCause::Internal;
    story.tell(ready("a"));
    story.tell(failed("a", cause, ""));
    assert!(
        story
            .try_tell(returned("a", ReturnCause::TaskCheck))
            .is_err()
    );
    story.tell(returned("a", ReturnCause::Retried));
    assert_eq!(story.states(), [("a", TaskState::Ready)]);
}

#[test]
fn exit_codes_win_in_the_order_of_the_contract() {
    let failed = |cause| {
        move |story: &mut Story, task: &str| {
            story.tell(ready(task)).tell(spawned(task, 1));
            story.tell(failed(task, cause, ""));
        }
    };
    let conflicted = |story: &mut Story, task: &str| {
        story.commit(task, "c");
        story.tell(facts::conflicted(task));
    };
    type Ending<'a> = &'a dyn Fn(&mut Story, &str);
    let check = failed(FailureCause::Check);
    let turns = failed(FailureCause::Turns);
    let denied = failed(FailureCause::Denied);
    let table: [(Ending<'_>, Ending<'_>, (RunStatus, u8)); 4] = [
        (&conflicted, &check, (RunStatus::Failed, 1)),
        (&check, &turns, (RunStatus::Limit, 4)),
        (&turns, &denied, (RunStatus::Denied, 5)),
        (&conflicted, &conflicted, (RunStatus::NeedsHuman, 3)),
    ];
    for (one, two, expected) in table {
        let mut story =
            Story::planned(RunSettings::default(), vec![task("a", &[]), task("b", &[])]);
        one(&mut story, "a");
        two(&mut story, "b");
        assert_eq!(outcome(&story.0), Some(expected));
    }
}

#[test]
fn a_task_that_has_ended_holds_no_tokens_back() {
    let ends: [fn() -> Event; 3] = [
        || resumed(),
        || failed("a", FailureCause::Panicked, ""),
        || cancelled("a", ""),
    ];
    for end in ends {
        let settings = RunSettings {
            budget_tokens: Some(10_000),
            ..RunSettings::default()
        };
        let mut story = Story::planned(settings, vec![task("a", &[]), task("b", &[])]);
        story.tell(ready("a")).tell(spawned("a", 1));
        let (request, model, reserved_micro_usd) = ("request".into(), "script:x".to_owned(), None);
        let (task, reserved_tokens) = (id("a"), 8_000);
        let parts =
            orchestrate_core::RequestParts::anew("system".into(), "tools".into(), Vec::new(), 100);
        story.tell(Event::ModelRequested {
            task,
            turn: 1,
            model,
            request,
            parts,
            reserved_tokens,
            reserved_micro_usd,
        });
        assert_eq!(story.0.budget.ask(&id("b"), 8_000), Reservation::Waits);
        story.tell(end());
        assert_eq!(story.0.budget.ask(&id("b"), 8_000), Reservation::Fits);
    }
}

#[test]
fn only_what_is_up_for_merging_is_merged() {
    let started = |candidate: &str| merge_started("a", "base", candidate);
    type Step<'a> = &'a dyn Fn(&mut Story) -> &mut Story;
    let (rejected, cancelled): (Step<'_>, Step<'_>) = (
        &|story| story.tell(returned("a", ReturnCause::Rejected)),
        &|story| story.tell(cancelled("a", "")),
    );
    for meanwhile in [rejected, cancelled] {
        let mut story =
            Story::planned(RunSettings::default(), vec![task("a", &[]), task("b", &[])]);
        story.commit("a", "a1");
        assert!(matches!(
            story.0.next_merge(),
            Some(MergeStep::Merge { .. })
        ));
        meanwhile(&mut story);
        assert!(story.try_tell(started("a1")).is_err());
        assert_eq!(story.0.next_merge(), None);
    }
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    story.commit("a", "a1");
    assert!(story.try_tell(started("another")).is_err());
    story.tell(started("a1"));
}

#[test]
fn an_answer_does_not_revive_a_task_that_has_ended() {
    let asked = Event::ApprovalRequested {
        task: id("a"),
        call: "hash".into(),
        call_id: "c1".into(),
        tool: "run_shell_command".to_owned(),
        summary: String::new(),
        arguments: serde_json::Value::Null,
        rule: "ask".to_owned(),
    };
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    story.tell(ready("a")).tell(spawned("a", 1)).tell(asked);
    assert_eq!(story.0.open_approvals().count(), 1);
    story.tell(cancelled("a", ""));
    assert_eq!(story.0.open_approvals().count(), 0);
    story.tell(Event::ApprovalDecided {
        call: "hash".into(),
        allowed: true,
        message: None,
        by: None,
    });
    assert_eq!(story.states(), [("a", TaskState::Cancelled)]);
}

fn snapshot(task: &str, commit: &str) -> Event {
    let tree = oid(&format!("tree of {commit}"));
    let (left_out, aside) = (Vec::new(), LeftAside::default());
    Event::SnapshotTaken {
        task: id(task),
        number: 1,
        commit: oid(commit),
        tree,
        on_branch: true,
        replaced: false,
        left_out,
        aside,
    }
}

/// A return because of a conflict with the integration branch.
fn conflicted(onto: Option<&str>) -> Event {
    Event::TaskReturned {
        task: id("a"),
        cause: ReturnCause::Conflict,
        text: "text".into(),
        onto: onto.map(oid),
    }
}

#[test]
fn a_repair_is_known_until_it_is_handed_over() {
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    story
        .tell(ready("a"))
        .tell(spawned("a", 1))
        .tell(snapshot("a", "a1"));
    let prepared = |onto: Option<&str>| Event::WorktreePrepared {
        task: id("a"),
        onto: onto.map(oid),
    };
    story
        .tell(prepared(None))
        .commit("a", "a1")
        .tell(conflicted(Some("m1")));
    story.tell(prepared(Some("m1")));
    let repair = |story: &Story| {
        let record = story.record("a");
        let sides = record
            .repair()
            .map(|repair| (repair.onto.to_string(), repair.tip.to_string()));
        (record.onto().cloned(), sides, record.owed_merge().is_some())
    };
    let sides = || Some(("m1".to_owned(), "a1".to_owned()));
    // Left markers are returned without another merge: the repair continues and still has both
    // parents.
    story.tell(conflicted(None));
    assert_eq!(repair(&story), (Some(oid("m1")), sides(), false));
    // A recreated worktree has to be merged into again.
    story.tell(Event::WorktreeRemoved { task: id("a") });
    assert_eq!(repair(&story), (Some(oid("m1")), sides(), true));
    story.tell(prepared(None)).tell(prepared(Some("m1")));
    // A commit of the agent's own takes the second parent; where to look for markers is still
    // known.
    story.tell(snapshot("a", "a2"));
    assert_eq!(repair(&story), (None, sides(), false));
    story.commit("a", "a2");
    assert_eq!(repair(&story), (None, None, false));
}

#[test]
fn what_is_returned_in_between_undoes_no_rejection_and_no_confirmation() {
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    story
        .tell(ready("a"))
        .tell(spawned("a", 1))
        .tell(snapshot("a", "a1"))
        .commit("a", "a1");
    let told = |story: &mut Story, event: Event| {
        let record = story.tell(event).record("a");
        (record.rejection_stands(), record.deletions_told())
    };
    assert_eq!(
        told(&mut story, returned("a", ReturnCause::Rejected)),
        (true, false)
    );
    story.tell(spawned("a", 2));
    assert_eq!(
        told(&mut story, returned("a", ReturnCause::Deletions)),
        (true, true)
    );
    assert_eq!(
        told(&mut story, returned("a", ReturnCause::Unstorable)),
        (true, true)
    );
    // The confirmed deletions are stored now: further ones need another confirmation.
    assert_eq!(told(&mut story, snapshot("a", "a2")), (true, false));
    story.commit("a", "a2");
    assert_eq!(
        told(&mut story, returned("a", ReturnCause::TaskCheck)),
        (false, false)
    );
    story.tell(returned("a", ReturnCause::Deletions));
    assert_eq!(
        told(&mut story, returned("a", ReturnCause::Retried)),
        (false, false)
    );
}

#[test]
fn a_rejection_stands_through_other_attempts_until_other_work_is_handed_over() {
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    story
        .tell(ready("a"))
        .tell(spawned("a", 1))
        .tell(snapshot("a", "a1"))
        .commit("a", "a1");
    story
        .tell(returned("a", ReturnCause::Rejected))
        .tell(spawned("a", 2));
    story.tell(failed("a", FailureCause::Check, ""));
    story
        .tell(returned("a", ReturnCause::Retried))
        .tell(spawned("a", 3));
    assert!(story.record("a").rejection_stands());
    story.tell(snapshot("a", "a2")).commit("a", "a2");
    assert!(!story.record("a").rejection_stands());
}

#[test]
fn a_rejection_that_changed_nothing_may_be_taken_back() {
    let failed = |cause| failed("a", cause, "");
    let approved = || review_approved("a", "tree of a1");
    let rejected = |then: &[Event]| {
        let plan = vec![task("a", &[]), task("b", &["a"])];
        let mut story = Story::planned(
            RunSettings {
                merge: MergeMode::Review,
                ..RunSettings::default()
            },
            plan,
        );
        story
            .tell(ready("a"))
            .tell(spawned("a", 1))
            .tell(snapshot("a", "a1"))
            .commit("a", "a1");
        story
            .tell(review_requested("a"))
            .tell(returned("a", ReturnCause::Rejected));
        story.tell(spawned("a", 2));
        then.iter().for_each(|event| {
            story.tell(event.clone());
        });
        story
    };
    let mut story = rejected(&[failed(FailureCause::NoChanges)]);
    story.tell(skipped("b", "a")).tell(approved());
    let states = ["a", "b"].map(|task| story.state_of(task));
    assert_eq!(
        (states, story.record("a").error()),
        ([TaskState::Verified, TaskState::Pending], None)
    );
    // Later work, finished or not, is another matter.
    for then in [
        vec![failed(FailureCause::Turns)],
        vec![snapshot("a", "a2"), failed(FailureCause::NoChanges)],
    ] {
        let refused = rejected(&then).try_tell(approved()).unwrap_err().reason;
        assert_eq!(refused.to_string(), "task a: it is failed");
    }
}

#[test]
fn each_attempt_of_a_command_begins_anew() {
    let command = Task {
        work: Work::Run("make".to_owned()),
        ..task("a", &[])
    };
    let mut story = Story::planned(RunSettings::default(), vec![command]);
    story.tell(ready("a")).tell(spawned("a", 1));
    story
        .tell(prepared("a"))
        .tell(snapshot("a", "a1"))
        .commit("a", "a1");
    story
        .tell(returned("a", ReturnCause::Rejected))
        .tell(spawned("a", 2));
    let record = story.record("a");
    assert_eq!(
        (record.tip().cloned(), record.is_prepared()),
        (Some(oid("base")), false)
    );
    // The very same commit, since it was created within the same second.
    let failed = failed("a", FailureCause::NoChanges, "");
    story.tell(snapshot("a", "a1")).tell(failed);
    assert!(!story.record("a").may_take_rejection_back());
}

#[test]
fn a_cleaned_worktree_is_set_up_again() {
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    story.tell(ready("a")).tell(spawned("a", 1));
    story.tell(prepared("a"));
    story.tell(failed("a", FailureCause::Check, ""));
    story.tell(Event::RunCleaned {
        tasks: vec![id("a")],
    });
    story
        .tell(returned("a", ReturnCause::Retried))
        .tell(spawned("a", 2));
    assert!(!story.record("a").is_prepared());
}

#[test]
fn a_new_attempt_has_no_open_calls() {
    let mut story = Story::planned(RunSettings::default(), vec![task("a", &[])]);
    let json = serde_json::json!({"type": "tool.started", "task": "a", "turn": 1, "call_id": "c", "tool": "t",
        "arguments": null, "rule": ""});
    story
        .tell(ready("a"))
        .tell(spawned("a", 1))
        .tell(serde_json::from_value(json).unwrap());
    story.tell(failed("a", FailureCause::Worktree, ""));
    story.tell(returned("a", ReturnCause::Retried));
    assert!(story.record("a").open_calls().is_empty());
}

#[test]
fn a_run_whose_task_never_started_has_not_succeeded() {
    let story = Story::planned(RunSettings::default(), vec![task("a", &["nobody"])]);
    assert_eq!(outcome(&story.0), Some((RunStatus::NeedsHuman, 3)));
}

#[test]
fn time_in_which_nobody_works_is_not_counted() {
    let mut story = Story::planned(RunSettings::default(), Vec::new());
    let mut tell = |ts_ms: u64, event: Event| {
        let fact = Recorded {
            ts_ms,
            ..recorded(story.0.seq + 1, event)
        };
        story.0.apply(&fact).unwrap();
        story.0.worked_ms()
    };
    let resumed = |pid| Event::RunResumed {
        pid,
        timeout_ms: None,
        budget_tokens: None,
        budget_micro_usd: None,
    };
    let start = tell(10_000, resumed(1));
    let finished = finished(RunStatus::Interrupted, 130);
    let times = [
        tell(12_000, finished.clone()) - start,
        tell(90_000, resumed(2)) - start,
        tell(93_000, finished) - start,
        tell(94_000, resumed(3)) - start,
        // It is killed, and a user cleans up before the run is resumed.
        tell(180_000, Event::RunCleaned { tasks: Vec::new() }) - start,
        tell(190_000, resumed(4)) - start,
    ];
    assert_eq!(times, [2_000, 2_000, 5_000, 5_000, 5_000, 5_000]);
}
