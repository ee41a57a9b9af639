//! The actions that a person can take next on a run and its tasks, as values that the terminal only
//! words.
//!
//! Every offered action on a task or a call is one that [`RunState::decide`] accepts, unless the
//! run's time is used up, which the refusal then reports.

use std::time::Duration;

use crate::event::RunStatus;
use crate::ids::{CallHash, Oid, TaskId};
use crate::messages::Envelope;
use crate::projections::report::{Report, STOPPED, TaskReport, status_name};
use crate::projections::review::ReviewEntry;
use crate::record::TaskRecord;
use crate::run::{Limit, RunState, outcome};
use crate::task::{ReturnCause, TaskState};

/// An action that a person can take next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Continues the run, with more of what stopped it.
    Resume {
        /// Whether the run needs more tokens.
        more_tokens: bool,
        /// Whether the run needs more money.
        more_money: bool,
        /// Whether the run needs more time.
        more_time: bool,
    },
    /// Stops the run.
    Stop,
    /// Shows the events of the whole run or of one task.
    Log(Option<TaskId>),
    /// Shows the work of all tasks or of one.
    Review(Option<TaskId>),
    /// Allows or denies a parked tool call.
    Answer(CallHash),
    /// Answers a question of a task's agent.
    Reply {
        /// The task.
        task: TaskId,
        /// The number of the question.
        question: u64,
    },
    /// Approves a task's work; if the work was rejected, withdraws the rejection.
    Approve(TaskId),
    /// Makes what the user has changed on a task's branch and in its worktree the task's work.
    Adopt(TaskId),
    /// Returns a task's work with a comment.
    Reject(TaskId),
    /// Retries a task that did not succeed.
    Retry(TaskId),
    /// Takes rejected work out of the result.
    Drop {
        /// The task.
        task: TaskId,
        /// Whether the tasks that were built on it have to go, too.
        with_dependents: bool,
    },
    /// Merges the result into the branch that the run started from.
    Land,
    /// Merges this result by hand, since the run started without a branch.
    MergeByHand(Oid),
    /// Runs another plan, since this plan sets the limit that stopped a task.
    RunAnotherPlan,
}

impl RunState {
    /// Returns the actions on a task whose work has been reviewed.
    pub fn actions(&self, task: &TaskId) -> Vec<Action> {
        let Some(record) = self.task(task) else {
            return Vec::new();
        };
        match record.state() {
            state if state.reads_messages() => {
                let asked = self.questions_to_user().filter(|(agent, _)| *agent == task);
                asked
                    .map(|(_, asked)| Action::Reply {
                        task: task.clone(),
                        question: asked.sequence,
                    })
                    .collect()
            }
            TaskState::AwaitingReview => {
                vec![Action::Approve(task.clone()), Action::Reject(task.clone())]
            }
            // The user's approval counts instead of the verdict.
            TaskState::Verified if self.is_held(record) => {
                vec![Action::Approve(task.clone()), Action::Reject(task.clone())]
            }
            TaskState::Merged | TaskState::NothingToDo => {
                let may_return = record.may_be_returned(ReturnCause::Rejected)
                    && self.lost_parent(record).is_none();
                let reject = may_return.then(|| Action::Reject(task.clone()));
                let land = (!self.is_landed() && self.rejected_in_result().is_empty())
                    .then_some(Action::Land);
                reject.into_iter().chain(land).collect()
            }
            TaskState::Failed | TaskState::Conflicted => self.ways_on(record),
            _ if self.holds_work(record) || self.is_left_out(record) => self.ways_on(record),
            _ => Vec::new(),
        }
    }

    /// Reports whether a task was stopped while finished work waits for its verdict.
    fn holds_work(&self, record: &TaskRecord) -> bool {
        let waits = |other: &TaskRecord| self.waits_for_verdict_of(other).contains(&record.task.id);
        record.state() == TaskState::Cancelled && self.tasks().any(waits)
    }

    /// Reports whether a run has ended without the work of an agent's child that was ended before
    /// it was merged.
    pub fn is_left_out(&self, record: &TaskRecord) -> bool {
        let has_work = record
            .newest_work()
            .is_some_and(|work| record.base() != Some(work));
        let is_ended = self.exit_code.is_some() && record.state() == TaskState::Cancelled;
        is_ended && record.parent.is_some() && record.merged().is_empty() && has_work
    }

    /// Returns the actions that let a task that did not succeed continue: withdrawing its
    /// rejection, where possible, and a retry, unless the limit that stopped the task would stop it
    /// again.
    fn ways_on(&self, record: &TaskRecord) -> Vec<Action> {
        let task = &record.task.id;
        let take_back = record
            .may_take_rejection_back()
            .then(|| Action::Approve(task.clone()));
        let has_no_time = self.time_left() == Some(Duration::ZERO);
        let go_on = match self.stopped_by(record) {
            Some(Limit::RunTokens) => resume(true, false, has_no_time),
            Some(Limit::RunMoney) => resume(false, true, has_no_time),
            Some(Limit::RunTime) => resume(false, false, true),
            Some(Limit::Endpoint) => resume(false, false, has_no_time),
            Some(Limit::TaskTokens) if self.budget.is_bound_by_plan(task) => Action::RunAnotherPlan,
            // An agent has set it, and is told.
            Some(Limit::TaskTokens) => return take_back.into_iter().collect(),
            // Nothing would take its work, or it would bring dropped work back.
            None if self.lost_parent(record).is_some()
                || !self.dropped_within(record).is_empty() =>
            {
                return take_back.into_iter().collect();
            }
            None => Action::Retry(task.clone()),
        };
        take_back.into_iter().chain([go_on]).collect()
    }

    /// Returns the action that drops a task, with the agent whose work contains its own if there is
    /// one, or `None` if it would be refused.
    fn drop_of(&self, task: &TaskId) -> Option<Action> {
        let task = self.to_be_dropped(task);
        let with_dependents = self.decide_drop(task, false).is_err();
        self.decide_drop(task, with_dependents).ok()?;
        Some(Action::Drop {
            task: task.clone(),
            with_dependents,
        })
    }

    /// Returns the actions on the result of a finished run.
    fn actions_on_result(&self) -> Vec<Action> {
        let rejected = self.rejected_in_result();
        if !rejected.is_empty() {
            // It would be refused to land it.
            let mut actions = vec![Action::Review(None)];
            for drop in rejected.iter().filter_map(|task| self.drop_of(task)) {
                if !actions.contains(&drop) {
                    actions.push(drop);
                }
            }
            return actions;
        }
        let by_hand = || Action::MergeByHand(self.integration.clone());
        let land = if self.base_branch.is_some() {
            Action::Land
        } else {
            by_hand()
        };
        vec![Action::Review(None), land]
    }
}

/// Returns the action that continues the run, with more of what it needs.
fn resume(more_tokens: bool, more_money: bool, more_time: bool) -> Action {
    Action::Resume {
        more_tokens,
        more_money,
        more_time,
    }
}

impl Report {
    /// Returns the actions on the run; its newest state may be newer than this one, for example
    /// after a landing.
    pub fn actions(&self, state: &RunState) -> Vec<Action> {
        let mut actions = Vec::new();
        let waits_for_endpoint = state.exit_code.is_some() && !self.rejecting_endpoints.is_empty();
        if waits_for_endpoint {
            actions.push(resume(
                false,
                false,
                state.time_left() == Some(Duration::ZERO),
            ));
        } else if self.status == STOPPED
            || self.status == status_name(RunStatus::Interrupted)
            || state.exit_code.is_some() && outcome(state).is_none()
        {
            actions.push(resume(false, false, false));
        }
        if self.status == status_name(RunStatus::Running) {
            actions.extend([Action::Log(None), Action::Stop]);
        }
        actions.extend(
            state
                .open_approvals()
                .map(|(call, _)| Action::Answer(call.clone())),
        );
        let questions = state.questions_to_user();
        actions.extend(questions.map(|(task, asked)| Action::Reply {
            task: task.clone(),
            question: asked.sequence,
        }));
        for task in &self.tasks {
            let more = task
                .actions(state)
                .into_iter()
                .filter(|action| !actions.contains(action));
            actions.extend(more.collect::<Vec<_>>());
        }
        let is_in_result = |task: &TaskReport| {
            state
                .task(&task.id)
                .is_some_and(|record| state.is_in_result(record))
        };
        let has_result = self.tasks.iter().filter(is_merged).any(is_in_result);
        if has_result && self.exit_code.is_some() && !state.is_landed() {
            actions.extend(state.actions_on_result());
        }
        // A new run starts from what has landed, so it comes last.
        actions.sort_by_key(|action| *action == Action::RunAnotherPlan);
        actions
    }
}

fn is_merged(task: &&TaskReport) -> bool {
    task.state == TaskState::Merged && task.commit.is_some()
}

impl TaskReport {
    /// Returns the actions on the task, whose work may not have been reviewed.
    fn actions(&self, state: &RunState) -> Vec<Action> {
        let review = || vec![Action::Review(Some(self.id.clone()))];
        match self.state {
            TaskState::AwaitingReview => review(),
            // While the run goes on, its reviewer may still approve it.
            TaskState::Verified
                if !self.waits_for_verdict_of.is_empty() && state.exit_code.is_some() =>
            {
                review()
            }
            TaskState::Merged if self.stale || self.is_report() => review(),
            TaskState::Failed | TaskState::Conflicted => {
                let log = Action::Log(Some(self.id.clone()));
                let ways_on = state.task(&self.id).map(|record| state.ways_on(record));
                std::iter::once(log)
                    .chain(ways_on.unwrap_or_default())
                    .collect()
            }
            TaskState::Cancelled => state.actions(&self.id),
            _ => Vec::new(),
        }
    }
}

impl ReviewEntry {
    /// Returns the actions on the branch and its agent in a list of branches.
    pub fn actions(&self) -> Vec<Action> {
        let is_asked_for = self.state == TaskState::AwaitingReview || self.stale;
        let review = is_asked_for.then(|| Action::Review(Some(self.task.clone())));
        let reply = |question: &Envelope| Action::Reply {
            task: self.task.clone(),
            question: question.sequence,
        };
        review
            .into_iter()
            .chain(self.adopt())
            .chain(self.questions.iter().map(reply))
            .collect()
    }

    /// Returns the action that makes the user's changes part of the work, if there are any.
    pub fn adopt(&self) -> Option<Action> {
        self.own.is_some().then(|| Action::Adopt(self.task.clone()))
    }
}
