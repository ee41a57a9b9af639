//! Decides whether faulty work is returned to its agent or its task ends, and how.
//!
//! Every fault in finished work goes through [`TaskRecord::after_fault`]: a failed check, a
//! conflict, files that cannot be stored. The limit is the run's `merge_rounds`; a new attempt,
//! which only the user starts, counts from zero again. Work that lacks what it has to deliver,
//! changes or a verdict, is decided here, too. Tasks whose work is never finished fail for the
//! causes of [`crate::task::FailureCause`].

use crate::ids::Oid;
use crate::record::task_record::TaskRecord;
use crate::task::verdict::RequestedChange;
use crate::task::{FailureCause, ReturnCause};

/// What happens to faulty work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFault {
    /// It is returned to its agent.
    Return,
    /// The task ends without success.
    GiveUp(GivenUp),
}

/// What happens to a task whose finished work changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutChanges {
    /// It is done; its output is its result.
    Report,
    /// It is done, since there was nothing to do.
    NothingToDo,
    /// It has failed.
    Fail,
}

/// What happens to a reviewing task whose agent has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewEnd {
    /// The verdict that it has given counts.
    Conclude,
    /// The agent is told once that it has to give a verdict.
    AskForVerdict,
    /// It has failed.
    Fail,
}

/// How a task ends when its rounds are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// It has failed.
    Failed,
    /// Its branch is left to the user, who can resolve what the agent could not.
    Conflicted,
}

impl TaskRecord {
    /// Decides what happens to the task's faulty work, if it may be returned `merge_rounds` times
    /// in one attempt. A fault that was found in a merge names the result that the work was merged
    /// into.
    pub fn after_fault(
        &self,
        fault: ReturnCause,
        merged_into: Option<&Oid>,
        merge_rounds: u32,
    ) -> AfterFault {
        let needs_merge = matches!(fault, ReturnCause::Conflict | ReturnCause::RunCheck);
        // A command fixes nothing: it is only rerun on a newer result, which may contain what it
        // lacked.
        let is_on_newer = merged_into.is_some_and(|result| self.base() != Some(result));
        let can_answer = !self.is_command() || needs_merge && is_on_newer;
        let rounds = match fault {
            // Who cannot give a form to an answer when told how is not told once more.
            ReturnCause::InvalidAnswer => merge_rounds.min(1),
            _ => merge_rounds,
        };
        if can_answer && self.rounds() < rounds {
            return AfterFault::Return;
        }
        // Without an agent a failed check cannot be fixed, and there is nothing for the user to
        // resolve.
        let is_resolvable = fault == ReturnCause::Conflict || needs_merge && !self.is_command();
        AfterFault::GiveUp(if is_resolvable {
            GivenUp::Conflicted
        } else {
            GivenUp::Failed
        })
    }

    /// Returns the cause for which the task fails, given the one that was observed: a permission
    /// that was denied without asking explains every other cause except a limit.
    pub fn failure_cause(&self, observed: FailureCause, ask_parks: bool) -> FailureCause {
        let is_denied = self.was_denied() && !ask_parks && !observed.is_limit();
        if is_denied {
            FailureCause::Denied
        } else {
            observed
        }
    }

    /// Reports whether finished work changes nothing: it is its base, or what the user has
    /// rejected.
    pub fn changes_nothing(&self, commit: &Oid, tree: &Oid) -> bool {
        let is_as_rejected = self.rejection_stands() && self.tree() == Some(tree);
        self.base() == Some(commit) || is_as_rejected
    }

    /// Decides what happens to the task if its finished work changes nothing. A command that
    /// changes nothing has succeeded, and so has the agent of the run's goal, and any other if its
    /// role or the task may have nothing to do, or if a part of its work was merged, unless this
    /// same result was rejected.
    pub fn without_changes(&self, role_may_do_nothing: bool) -> WithoutChanges {
        let may_do_nothing = role_may_do_nothing || self.task.may_change_nothing;
        match (self.rejection_stands(), self.is_command()) {
            (false, true) => WithoutChanges::Report,
            // A goal may be a question.
            (false, false) if self.task.goal => WithoutChanges::Report,
            (false, false) if may_do_nothing || self.works_on_rest() => WithoutChanges::NothingToDo,
            _ => WithoutChanges::Fail,
        }
    }

    /// Decides what happens to a reviewing task whose agent has ended.
    pub fn review_end(&self) -> ReviewEnd {
        match (self.given_verdict(), self.verdict_told()) {
            (Some(_), _) => ReviewEnd::Conclude,
            (None, false) => ReviewEnd::AskForVerdict,
            (None, true) => ReviewEnd::Fail,
        }
    }
}

/// What follows when a reviewing task's agent ends with a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerdictEnd {
    /// The task ends, and the work that it reviewed may be merged.
    Approve,
    /// The task ends, since there was nothing to review.
    NothingToDo,
    /// The task waits for new work.
    Await(Vec<AfterReview>),
}

/// A task that has to change its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfterReview {
    /// The requested change.
    pub change: RequestedChange,
    /// Whether the task may try once more.
    pub after: AfterFault,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::ids::BlobId;
    use crate::task::{Task, Work};

    /// Returns the record of a task whose work has been returned this many times in its first
    /// attempt.
    fn record(work: &Work, rounds: u32) -> TaskRecord {
        let mut record = TaskRecord::new(
            Task {
                id: "T1".into(),
                work: work.clone(),
                ..Task::default()
            },
            None,
        );
        let mut tell = |event| record.apply(1, &event).unwrap();
        let spawned = Event::AgentSpawned {
            task: "T1".into(),
            attempt: 1,
            agent: None,
            model: None,
            branch: "b".to_owned(),
            base: "base".into(),
            spec: None,
            sends: None,
        };
        tell(Event::TaskReady { task: "T1".into() });
        tell(spawned.clone());
        for _ in 0..rounds {
            let text = BlobId::from("text");
            tell(Event::TaskReturned {
                task: "T1".into(),
                cause: ReturnCause::RunCheck,
                text,
                onto: None,
            });
            if matches!(work, Work::Run(_)) {
                tell(spawned.clone());
            }
        }
        record
    }

    #[test]
    fn a_denied_call_explains_every_failure_but_a_limit() {
        use FailureCause::{Budget, Check, Context, Cost, Denied, Silent, Timeout, Turns};
        let clean = record(&Work::Agent(None), 0);
        let mut denied = clean.clone();
        let call = serde_json::json!({"type": "tool.finished",
            "task": "T1",
            "turn": 1,
            "call_id": "c1",
            "tool": "grep",
                                      "outcome": "denied", "result": "blob", "duration_ms": 1});
        denied
            .apply(2, &serde_json::from_value(call).unwrap())
            .unwrap();
        for observed in [Check, Silent] {
            assert_eq!(denied.failure_cause(observed, false), Denied);
            // A call that may be parked was denied by a person, who knows of it.
            assert_eq!(denied.failure_cause(observed, true), observed);
            assert_eq!(clean.failure_cause(observed, false), observed);
        }
        for limit in [Turns, Budget, Cost, Timeout, Context] {
            assert_eq!(denied.failure_cause(limit, false), limit);
        }
    }

    #[test]
    fn work_goes_back_so_often_and_then_ends_by_what_is_wrong_with_it() {
        use AfterFault::{GiveUp, Return};
        use ReturnCause::{
            ChangesRequested, Conflict, Deletions, InvalidPlan, RunCheck, TaskCheck, Unstorable,
        };
        let (agent, command) = (Work::Agent(None), Work::Run("make".to_owned()));
        let (failed, conflicted) = (GiveUp(GivenUp::Failed), GiveUp(GivenUp::Conflicted));
        for (work, fault, within, beyond) in [
            (&agent, Conflict, Return, conflicted),
            (&agent, RunCheck, Return, conflicted),
            (&agent, TaskCheck, Return, failed),
            (&agent, Deletions, Return, failed),
            (&agent, Unstorable, Return, failed),
            (&agent, ChangesRequested, Return, failed),
            (&agent, InvalidPlan, Return, failed),
            (&command, ChangesRequested, failed, failed),
            (&command, Conflict, Return, conflicted),
            (&command, RunCheck, Return, failed),
            (&command, TaskCheck, failed, failed),
            (&command, Deletions, failed, failed),
            (&command, Unstorable, failed, failed),
        ] {
            let newer = "newer".into();
            let decided =
                [0, 1, 2, 3].map(|rounds| record(work, rounds).after_fault(fault, Some(&newer), 2));
            assert_eq!(
                decided,
                [within, within, beyond, beyond],
                "{work:?} {fault:?}"
            );
        }
        assert_eq!(record(&agent, 0).after_fault(Conflict, None, 0), conflicted);
    }

    #[test]
    fn a_command_is_not_rerun_on_the_base_where_it_failed() {
        let (base, newer): (Oid, Oid) = ("base".into(), "newer".into());
        let command = record(&Work::Run("make".to_owned()), 0);
        let decided =
            [&base, &newer].map(|onto| command.after_fault(ReturnCause::RunCheck, Some(onto), 2));
        assert_eq!(
            decided,
            [AfterFault::GiveUp(GivenUp::Failed), AfterFault::Return]
        );
        let agent = record(&Work::Agent(None), 0);
        assert_eq!(
            agent.after_fault(ReturnCause::RunCheck, Some(&base), 2),
            AfterFault::Return
        );
    }

    #[test]
    fn work_without_changes_fails_an_agent_unless_its_role_may_do_nothing() {
        use WithoutChanges::{Fail, NothingToDo, Report};
        let (agent, command) = (Work::Agent(None), Work::Run("make".to_owned()));
        for (work, may_do_nothing, fresh) in [
            (&agent, false, Fail),
            (&agent, true, NothingToDo),
            (&command, false, Report),
            (&command, true, Report),
        ] {
            let mut task = record(work, 0);
            assert_eq!(
                task.without_changes(may_do_nothing),
                fresh,
                "{work:?} {may_do_nothing}"
            );
            reject(&mut task);
            assert_eq!(
                task.without_changes(may_do_nothing),
                Fail,
                "{work:?} {may_do_nothing}, rejected"
            );
        }
    }

    #[test]
    fn a_task_that_only_checks_may_change_nothing() {
        let mut checkpoint = record(&Work::Agent(None), 0);
        checkpoint.task.may_change_nothing = true;
        assert_eq!(
            checkpoint.without_changes(false),
            WithoutChanges::NothingToDo
        );
        reject(&mut checkpoint);
        assert_eq!(checkpoint.without_changes(false), WithoutChanges::Fail);
    }

    #[test]
    fn a_goal_that_needs_no_changes_ends_with_its_answer() {
        let mut goal = record(&Work::Agent(Some("coordinator".to_owned())), 0);
        goal.task.goal = true;
        for role_may_do_nothing in [false, true] {
            assert_eq!(
                goal.without_changes(role_may_do_nothing),
                WithoutChanges::Report
            );
        }
        reject(&mut goal);
        assert_eq!(goal.without_changes(true), WithoutChanges::Fail);
    }

    #[test]
    fn work_changes_nothing_if_it_is_its_base_or_what_was_rejected() {
        let (base, tree, other) = (Oid::from("base"), Oid::from("tree"), Oid::from("other"));
        let mut task = record(&Work::Agent(None), 0);
        assert!(task.changes_nothing(&base, &tree) && !task.changes_nothing(&other, &tree));
        reject(&mut task);
        assert!(task.changes_nothing(&other, &tree) && !task.changes_nothing(&other, &other));
    }

    /// Hands over the tree `tree`, and rejects it.
    fn reject(record: &mut TaskRecord) {
        let (task, commit, tree) = ("T1".into(), "commit".into(), "tree".into());
        record
            .apply(
                1,
                &Event::TaskCommitted {
                    task,
                    commit,
                    tree,
                    summary: String::new(),
                },
            )
            .unwrap();
        let text = BlobId::from("text");
        let rejected = Event::TaskReturned {
            task: "T1".into(),
            cause: ReturnCause::Rejected,
            text,
            onto: None,
        };
        record.apply(1, &rejected).unwrap();
    }
}
