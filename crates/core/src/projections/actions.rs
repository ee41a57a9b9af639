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
                let mut replies = Vec::new();
                for (agent, asked) in self.questions_to_user() {
                    if agent == task {
                        replies.push(reply(agent, asked));
                    }
                }
                replies
            }
            TaskState::AwaitingReview => {
                vec![Action::Approve(task.clone()), Action::Reject(task.clone())]
            }
            // The user's approval counts instead of the verdict.
            TaskState::Verified if self.is_held(record) => {
                vec![Action::Approve(task.clone()), Action::Reject(task.clone())]
            }
            TaskState::Merged | TaskState::NothingToDo => {
                let mut actions = Vec::new();
                if record.may_be_returned(ReturnCause::Rejected)
                    && self.lost_parent(record).is_none()
                {
                    actions.push(Action::Reject(task.clone()));
                }
                if !self.is_landed() && self.rejected_in_result().is_empty() {
                    actions.push(Action::Land);
                }
                actions
            }
            TaskState::Failed | TaskState::Conflicted => self.ways_on(record),
            _ if self.holds_work(record) || self.is_left_out(record) => self.ways_on(record),
            _ => Vec::new(),
        }
    }

    /// Reports whether a task was stopped while finished work waits for its verdict.
    fn holds_work(&self, record: &TaskRecord) -> bool {
        let task = &record.task.id;
        record.state() == TaskState::Cancelled
            && self
                .tasks()
                .any(|other| self.waits_for_verdict_of(other).contains(task))
    }

    /// Reports whether a run has ended without the work of an agent's child that was ended before
    /// it was merged.
    pub fn is_left_out(&self, record: &TaskRecord) -> bool {
        let work = record.newest_work();
        let has_work = work.is_some() && work != record.base();
        let is_ended = self.exit_code.is_some() && record.state() == TaskState::Cancelled;
        is_ended && record.parent.is_some() && record.merged().is_empty() && has_work
    }

    /// Returns the actions that let a task that did not succeed continue: withdrawing its
    /// rejection, where possible, and a retry, unless the limit that stopped the task would stop it
    /// again.
    fn ways_on(&self, record: &TaskRecord) -> Vec<Action> {
        let task = &record.task.id;
        let mut actions = Vec::new();
        if record.may_take_rejection_back() {
            actions.push(Action::Approve(task.clone()));
        }
        let has_no_time = self.time_left() == Some(Duration::ZERO);
        actions.push(match self.stopped_by(record) {
            Some(Limit::RunTokens) => resume(true, false, has_no_time),
            Some(Limit::RunMoney) => resume(false, true, has_no_time),
            Some(Limit::RunTime) => resume(false, false, true),
            Some(Limit::Endpoint) => resume(false, false, has_no_time),
            Some(Limit::TaskTokens) if self.budget.is_bound_by_plan(task) => Action::RunAnotherPlan,
            // An agent has set it, and is told.
            Some(Limit::TaskTokens) => return actions,
            // Nothing would take its work, or it would bring dropped work back.
            None if self.lost_parent(record).is_some()
                || !self.dropped_within(record).is_empty() =>
            {
                return actions;
            }
            None => Action::Retry(task.clone()),
        });
        actions
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
        let land = if self.base_branch.is_some() {
            Action::Land
        } else {
            Action::MergeByHand(self.integration.clone())
        };
        vec![Action::Review(None), land]
    }
}

/// Returns the action that answers an agent's question.
fn reply(task: &TaskId, question: &Envelope) -> Action {
    Action::Reply {
        task: task.clone(),
        question: question.sequence,
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
        for (call, _) in state.open_approvals() {
            actions.push(Action::Answer(call.clone()));
        }
        for (task, asked) in state.questions_to_user() {
            actions.push(reply(task, asked));
        }
        for task in &self.tasks {
            for action in task.actions(state) {
                if !actions.contains(&action) {
                    actions.push(action);
                }
            }
        }
        let has_result = self.tasks.iter().any(|task| task.is_in_result(state));
        if has_result && self.exit_code.is_some() && !state.is_landed() {
            actions.extend(state.actions_on_result());
        }
        // A new run starts from what has landed, so it comes last.
        actions.sort_by_key(|action| *action == Action::RunAnotherPlan);
        actions
    }
}

impl TaskReport {
    /// Reports whether a commit of the task is part of the run's result.
    fn is_in_result(&self, state: &RunState) -> bool {
        match state.task(&self.id) {
            Some(record) if self.state == TaskState::Merged && self.commit.is_some() => {
                state.is_in_result(record)
            }
            _ => false,
        }
    }

    /// Returns the actions on the task, whose work may not have been reviewed.
    fn actions(&self, state: &RunState) -> Vec<Action> {
        let review = Action::Review(Some(self.id.clone()));
        match self.state {
            TaskState::AwaitingReview => vec![review],
            // While the run goes on, its reviewer may still approve it.
            TaskState::Verified
                if !self.waits_for_verdict_of.is_empty() && state.exit_code.is_some() =>
            {
                vec![review]
            }
            TaskState::Merged if self.stale || self.is_report() => vec![review],
            TaskState::Failed | TaskState::Conflicted => {
                let mut actions = vec![Action::Log(Some(self.id.clone()))];
                if let Some(record) = state.task(&self.id) {
                    actions.extend(state.ways_on(record));
                }
                actions
            }
            TaskState::Cancelled => state.actions(&self.id),
            _ => Vec::new(),
        }
    }
}

impl ReviewEntry {
    /// Returns the actions on the branch and its agent in a list of branches.
    pub fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.state == TaskState::AwaitingReview || self.stale {
            actions.push(Action::Review(Some(self.task.clone())));
        }
        actions.extend(self.adopt());
        for question in &self.questions {
            actions.push(reply(&self.task, question));
        }
        actions
    }

    /// Returns the action that makes the user's changes part of the work, if there are any.
    pub fn adopt(&self) -> Option<Action> {
        self.own.is_some().then(|| Action::Adopt(self.task.clone()))
    }
}
