//! Requests of users and programs to a run, and the decisions on them.
//!
//! [`RunState::decide`] is the only place where a request is accepted or refused; its caller only
//! records the decision. Requests and refusals are stored as JSON, so a released variant or field
//! keeps its name. The terminal words how to continue after a refusal: no text here names a command
//! line.

mod refused;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::price::dollars;
use crate::event::{Event, StopRequest};
use crate::ids::{AgentId, CallHash, Oid, TaskId};
use crate::messages::{Address, Body, MessageKind, Origin, Outgoing};
use crate::record::TaskRecord;
use crate::run::parked_call::is_whole;
use crate::run::routing::Routed;
use crate::run::run_state::{Limit, RunState};
use crate::task::{ReturnCause, TaskState};

pub use refused::RequestRefused;

/// The message to an agent whose work is returned without a comment.
const TRY_AGAIN: &str = "Try again.";

/// A request of a user or a program to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Request {
    /// Approves a task's work.
    Approve {
        /// The task.
        task: TaskId,
        /// The tree that was reviewed, which the approval is bound to.
        tree: Oid,
    },
    /// Makes a person's commit on a task's branch the task's finished work.
    Adopt(Adoption),
    /// Returns a task's work with a comment.
    Reject {
        /// The task.
        task: TaskId,
        /// The message to the agent.
        message: String,
        /// The line that the comment refers to, as `file:line`.
        at: Option<String>,
    },
    /// Answers a parked tool call.
    Decide {
        /// The call.
        call: CallHash,
        /// Whether it may run.
        allowed: bool,
        /// The message to the agent.
        message: Option<String>,
    },
    /// Retries a task that did not succeed.
    Retry {
        /// The task.
        task: TaskId,
        /// The message to the agent.
        message: Option<String>,
    },
    /// Retries every task that has failed or could not be merged, except those that a limit would
    /// stop again.
    RetryFailed {
        /// The message to the agents.
        message: Option<String>,
    },
    /// Sends a message to agents.
    Message {
        /// The agents.
        to: Address,
        /// The content.
        body: Body,
        /// What it is for; `None` for an answer if an agent waits for one, and otherwise for a
        /// note.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<MessageKind>,
        /// The number of the agent's question that it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<u64>,
        /// Seconds after which it must not be delivered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_seconds: Option<u64>,
    },
    /// Stops the run.
    Stop {
        /// How hard.
        level: StopLevel,
        /// The process that it is addressed to; `None` for whichever works on the run.
        #[serde(default)]
        holder: Option<Holder>,
    },
    /// Stops one agent and those that it spawned: their current calls are cancelled and recorded.
    StopAgent {
        /// The agent.
        agent: AgentId,
        /// The process that it is addressed to; `None` for whichever works on the run.
        holder: Option<Holder>,
    },
}

/// A person's commit on a task's branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adoption {
    /// The task.
    pub task: TaskId,
    /// The branch's recorded tip, which it was made on.
    pub tip: Oid,
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The part of the agent's work that it takes; `None` if it is the person's own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// A part of an agent's work that a person takes and approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The files that are taken.
    pub taken: Vec<String>,
    /// The files of the work that are not, and return to the agent; none if everything is taken.
    pub left: Vec<String>,
    /// Files that look like secrets, and that are taken all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admitted: Vec<String>,
    /// The message to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How forcefully a run is stopped; a level only rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopLevel {
    /// Current turns end, nothing new starts.
    Drain,
    /// Current calls are cancelled and recorded.
    Stop,
    /// Processes are killed immediately.
    Kill,
}

/// The process that works on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id; 0 if it is not recorded yet.
    pub pid: u32,
    /// When it took the run, in Unix milliseconds.
    pub since_ms: u64,
    /// The reason for which it holds the run.
    #[serde(default)]
    pub purpose: Purpose,
}

/// The purpose for which a process holds a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It works on the run's tasks, and answers requests.
    #[default]
    Run,
    /// It lands the run, or undoes a landing; it answers no requests.
    Land,
    /// It removes the run's worktrees; it answers no requests.
    Clean,
    /// It rebuilds the run's result without some tasks; it answers no requests.
    Drop,
}

/// New limits of a run, which include what it has used already; `None` leaves a limit unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// The time limit of the whole run.
    pub time: Option<Duration>,
    /// The token limit of the whole run.
    pub tokens: Option<u64>,
    /// The cost limit of the whole run, in micro-dollars.
    pub micro_usd: Option<u64>,
}

/// A request that is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// The decision.
    pub decision: Decision,
    /// The answer to its sender.
    pub answer: String,
}

/// The effect of an accepted request.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Records these events.
    Record(Vec<Event>),
    /// Returns tasks to their agents.
    Return(Return),
    /// Records a person's commit as a task's work.
    Adopt(Adoption),
    /// Records nothing: the level of shutdown is raised in memory, or there is nothing to stop.
    Stop,
}

/// Tasks that are returned to their agents with the same message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    /// The tasks.
    pub tasks: Vec<TaskId>,
    /// Why.
    pub cause: ReturnCause,
    /// The message to their agents.
    pub message: String,
}

impl Allowance {
    /// Returns the new time limit of the whole run, in milliseconds.
    pub fn timeout_ms(&self) -> Option<u64> {
        self.time
            .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns what the agents of these tasks are told.
    fn words(&self) -> String {
        let tokens = self.tokens.map(|tokens| format!("{tokens} tokens"));
        let money = self.micro_usd.map(dollars);
        let time = self
            .time
            .map(|time| format!("{} seconds of work", time.as_secs()));
        let raised: Vec<String> = tokens.into_iter().chain(money).chain(time).collect();
        if raised.is_empty() {
            return TRY_AGAIN.to_owned();
        }
        let raised = raised.join(", ");
        format!(
            "The limit that stopped you has been raised: the whole run may use {raised} now. Go on \
             where you were."
        )
    }

    /// Returns the tasks that failed for lack of a limit that is raised, or of a model that
    /// answers.
    pub fn reopens(&self, state: &RunState) -> Vec<TaskId> {
        let mut reopened = Vec::new();
        for record in state.tasks() {
            let is_given = match state.stopped_by(record) {
                Some(Limit::RunTokens) => self.tokens.is_some(),
                Some(Limit::RunMoney) => self.micro_usd.is_some(),
                Some(Limit::RunTime) => self.time.is_some(),
                // The user has resumed the run because the endpoint should answer again.
                Some(Limit::Endpoint) => true,
                Some(Limit::TaskTokens) | None => false,
            };
            if is_given {
                reopened.push(record.task.id.clone());
            }
        }
        reopened
    }
}

impl Request {
    /// Returns the request that sends a message without any of the optional parts.
    pub fn message(to: impl Into<Address>, body: impl Into<Body>) -> Self {
        Self::Message {
            to: to.into(),
            body: body.into(),
            kind: None,
            reply_to: None,
            deadline_seconds: None,
        }
    }

    /// Returns the request as it is when its sender has waited this long for a process that works
    /// on the run: the deadline of a message counts from when it was sent.
    ///
    /// # Errors
    /// Fails if the deadline has passed.
    pub fn after(mut self, waited: Duration) -> Result<Self, RequestRefused> {
        if let Self::Message {
            deadline_seconds: Some(seconds),
            ..
        } = &mut self
        {
            *seconds = seconds
                .checked_sub(waited.as_secs())
                .filter(|left| *left > 0)
                .ok_or(RequestRefused::Expired)?;
        }
        Ok(self)
    }

    /// Reports whether it concerns the process that works on the run rather than the run, so that
    /// no later process carries it out.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stop { .. } | Self::StopAgent { .. })
    }

    /// Returns the ended tasks that the request reopens in this state.
    pub fn reopens(&self, state: &RunState) -> Vec<TaskId> {
        match self {
            Self::Reject { task, .. } | Self::Retry { task, .. } => vec![task.clone()],
            Self::Adopt(adoption) => vec![adoption.task.clone()],
            Self::RetryFailed { .. } => state.failed_tasks(),
            _ => Vec::new(),
        }
    }
}

impl RunState {
    /// Decides a request in this state.
    ///
    /// # Errors
    /// Fails with the reason if the request is refused; nothing changes then.
    pub fn decide(&self, request: &Request) -> Result<Accepted, RequestRefused> {
        match request {
            Request::Approve { task, tree } => self.decide_approval(task, tree),
            Request::Adopt(adoption) => self.decide_adoption(adoption),
            Request::Reject { task, message, at } => {
                let place = at.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
                self.decide_return(task, ReturnCause::Rejected, format!("{place}{message}"))
            }
            Request::Retry { task, message } => {
                let message = message.clone().unwrap_or_else(|| TRY_AGAIN.to_owned());
                self.decide_return(task, ReturnCause::Retried, message)
            }
            Request::RetryFailed { message } => self.decide_retry_of_failed(message.as_ref()),
            Request::Decide {
                call,
                allowed,
                message,
            } => {
                let fact = self.decide_call(call, *allowed, message.clone(), None)?;
                let answer = format!(
                    "call {call} is {}",
                    if *allowed { "approved" } else { "rejected" }
                );
                Ok(Accepted {
                    decision: Decision::Record(vec![fact]),
                    answer,
                })
            }
            Request::Message {
                to,
                body,
                kind,
                reply_to,
                deadline_seconds,
            } => {
                let (to, body) = (to.clone(), body.clone());
                let (kind, reply_to, deadline_seconds) = (*kind, *reply_to, *deadline_seconds);
                self.decide_users_message(&Outgoing {
                    to,
                    kind,
                    body,
                    reply_to,
                    deadline_seconds,
                    waits: false,
                })
            }
            Request::Stop { .. } => Ok(Accepted {
                decision: Decision::Stop,
                answer: "stopping".to_owned(),
            }),
            Request::StopAgent { agent, .. } => {
                self.known(agent)?;
                let stop = Event::StopRequested(StopRequest {
                    task: agent.clone(),
                    by: None,
                });
                let decision = if self.is_any_open(agent) {
                    Decision::Record(vec![stop])
                } else {
                    Decision::Stop
                };
                Ok(Accepted {
                    decision,
                    answer: format!("stopping {agent}"),
                })
            }
        }
    }

    /// Decides which tasks continue when a run is resumed with a raised limit.
    ///
    /// # Errors
    /// Fails if the run's time is still used up, so that the tasks would fail again at once, or if
    /// its cost is to be limited and a part of it is not known.
    pub fn decide_resumption(
        &self,
        allowance: Allowance,
    ) -> Result<Option<Return>, RequestRefused> {
        if allowance.micro_usd.is_some()
            && (self.cost().micro_usd().is_none() || self.cut_requests().iter().any(is_unpriced))
        {
            return Err(RequestRefused::UnknownCost);
        }
        let tasks = allowance.reopens(self);
        let mut continuing = tasks.clone();
        for rejecting in self.rejecting_endpoints() {
            continuing.extend(rejecting.tasks);
        }
        if continuing.is_empty() {
            return Ok(None);
        }
        let limit = allowance.timeout_ms().or(self.settings.timeout_ms);
        if let Some(limit_ms) = limit
            && limit_ms <= self.worked_ms()
        {
            let more_tokens = allowance.tokens.is_some();
            return Err(RequestRefused::StillOutOfTime {
                tasks: continuing,
                limit_ms,
                more_tokens,
                more_money: allowance.micro_usd.is_some(),
                more_time: allowance.time.is_some(),
            });
        }
        let again = Return {
            tasks,
            cause: ReturnCause::Retried,
            message: allowance.words(),
        };
        Ok(Some(again).filter(|again| !again.tasks.is_empty()))
    }

    fn decide_approval(&self, task: &TaskId, tree: &Oid) -> Result<Accepted, RequestRefused> {
        let record = self.known(task)?;
        let takes_back = record.may_take_rejection_back();
        if self.stays_unmerged(record) && !takes_back {
            return Err(RequestRefused::NothingIsMerged {
                task: task.clone(),
                branch: record.branch().map(str::to_owned),
            });
        }
        let awaits_review = matches!(
            record.state(),
            TaskState::AwaitingReview | TaskState::Verified
        );
        if !awaits_review && !takes_back {
            return Err(RequestRefused::NotInReview {
                task: task.clone(),
                state: record.state(),
            });
        }
        self.require_time()?;
        if record.tree() != Some(tree) {
            return Err(RequestRefused::Changed { task: task.clone() });
        }
        let fact = Event::ReviewApproved {
            task: task.clone(),
            tree: tree.clone(),
        };
        Ok(Accepted {
            decision: Decision::Record(vec![fact]),
            answer: format!("{task} is approved at tree {tree}"),
        })
    }

    fn decide_adoption(&self, adoption: &Adoption) -> Result<Accepted, RequestRefused> {
        let Adoption {
            task,
            tip,
            commit,
            part,
            ..
        } = adoption;
        let record = self.known(task)?;
        self.require_adoptable(task)?;
        if part.is_some() && self.stays_unmerged(record) {
            let branch = record.branch().map(str::to_owned);
            return Err(RequestRefused::NothingIsMerged {
                task: task.clone(),
                branch,
            });
        }
        if part.is_some()
            && !matches!(
                record.state(),
                TaskState::AwaitingReview | TaskState::Verified
            )
        {
            return Err(RequestRefused::NotInReview {
                task: task.clone(),
                state: record.state(),
            });
        }
        if record.tip() != Some(tip) {
            return Err(RequestRefused::Changed { task: task.clone() });
        }
        let answer = match part {
            None => format!("{task} has your commit {commit} as its work, which is checked again"),
            Some(Part { left, .. }) if left.is_empty() => {
                format!("{task} is approved with the files that you named")
            }
            Some(Part { taken, left, .. }) => format!(
                "{task} is approved in part ({}); the rest returns to its agent once that is \
                 merged: {}",
                taken.join(", "),
                left.join(", ")
            ),
        };
        Ok(Accepted {
            decision: Decision::Adopt(adoption.clone()),
            answer,
        })
    }

    /// Requires that a person's commit may become a task's work now.
    ///
    /// # Errors
    /// Fails with the reason.
    pub fn require_adoptable(&self, task: &TaskId) -> Result<(), RequestRefused> {
        let record = self.require_mergeable_again(task)?;
        if !record.may_be_adopted() {
            return Err(RequestRefused::NotAdoptable {
                task: task.clone(),
                state: record.state(),
            });
        }
        Ok(())
    }

    /// Requires that further work of a task could be merged, and returns its record.
    fn require_mergeable_again(&self, task: &TaskId) -> Result<&TaskRecord, RequestRefused> {
        let record = self.known(task)?;
        self.require_time()?;
        if self.merges.current() == Some(task) {
            return Err(RequestRefused::BeingMerged { task: task.clone() });
        }
        if let Some(parent) = self.lost_parent(record) {
            return Err(RequestRefused::ParentEnded {
                task: task.clone(),
                parent: parent.clone(),
                first: self.first_to_retry(record).cloned(),
            });
        }
        let agents = self.dropped_within(record);
        if !agents.is_empty() {
            return Err(RequestRefused::HoldsDropped {
                task: task.clone(),
                agents,
            });
        }
        Ok(record)
    }

    fn decide_return(
        &self,
        task: &TaskId,
        cause: ReturnCause,
        message: String,
    ) -> Result<Accepted, RequestRefused> {
        let record = self.require_mergeable_again(task)?;
        if !record.may_be_returned(cause) {
            return Err(RequestRefused::NothingToReturn {
                task: task.clone(),
                state: record.state(),
            });
        }
        let answer = format!(
            "{task} is returned to its agent for attempt {}",
            record.attempt() + 1
        );
        let decision = Decision::Return(Return {
            tasks: vec![task.clone()],
            cause,
            message,
        });
        Ok(Accepted { decision, answer })
    }

    /// Returns the highest ended agent above a task, which has to be retried before the others, if
    /// that is possible.
    fn first_to_retry(&self, record: &TaskRecord) -> Option<&TaskId> {
        let highest = self.highest_lost_parent(record)?;
        self.decide_return(highest, ReturnCause::Retried, TRY_AGAIN.to_owned())
            .is_ok()
            .then_some(highest)
    }

    fn decide_retry_of_failed(&self, message: Option<&String>) -> Result<Accepted, RequestRefused> {
        let tasks = self.failed_tasks();
        if tasks.is_empty() {
            return Err(RequestRefused::NothingFailed);
        }
        self.require_time()?;
        let names: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
        let answer = format!(
            "returned to their agents for another attempt: {}",
            names.join(", ")
        );
        let message = message.map_or_else(|| TRY_AGAIN.to_owned(), String::clone);
        let decision = Decision::Return(Return {
            tasks,
            cause: ReturnCause::Retried,
            message,
        });
        Ok(Accepted { decision, answer })
    }

    /// Returns the tasks that did not succeed by themselves and that nothing prevents from
    /// succeeding now.
    fn failed_tasks(&self) -> Vec<TaskId> {
        self.tasks()
            .filter(|record| self.may_succeed_now(record))
            .map(|record| record.task.id.clone())
            .collect()
    }

    /// Reports whether a task did not succeed and nothing prevents it from succeeding now.
    fn may_succeed_now(&self, record: &TaskRecord) -> bool {
        let is_open = matches!(record.state(), TaskState::Failed | TaskState::Conflicted);
        let may_succeed = matches!(self.stopped_by(record), None | Some(Limit::Endpoint));
        let is_wanted = self.lost_parent(record).is_none();
        is_open && may_succeed && is_wanted && self.merges.current() != Some(&record.task.id)
    }

    /// Decides a parked call as a user or the approver of this name wishes, and returns the event
    /// of it.
    ///
    /// # Errors
    /// Fails if the call does not wait for a decision, if parts of what would be allowed are
    /// hidden, or if no time is left.
    pub fn decide_call(
        &self,
        call: &CallHash,
        allowed: bool,
        message: Option<String>,
        by: Option<String>,
    ) -> Result<Event, RequestRefused> {
        let Some((_, approval)) = self.open_approvals().find(|(open, _)| *open == call) else {
            return Err(RequestRefused::NoSuchCall { call: call.clone() });
        };
        if allowed && !is_whole(approval) {
            return Err(RequestRefused::HiddenCall { call: call.clone() });
        }
        self.require_time()?;
        Ok(Event::ApprovalDecided {
            call: call.clone(),
            allowed,
            message,
            by,
        })
    }

    fn decide_users_message(&self, outgoing: &Outgoing) -> Result<Accepted, RequestRefused> {
        let Routed {
            events, receipt, ..
        } = self
            .decide_message(&Origin::user(), outgoing)
            .map_err(RequestRefused::Message)?;
        Ok(Accepted {
            decision: Decision::Record(events),
            answer: receipt.to_string(),
        })
    }

    /// Refuses requests that would start work when no time is left: the work would fail at once.
    fn require_time(&self) -> Result<(), RequestRefused> {
        if self.time_left() == Some(Duration::ZERO) {
            return Err(self.out_of_time());
        }
        Ok(())
    }

    /// Returns the refusal of requests that need time which the run no longer has.
    pub fn out_of_time(&self) -> RequestRefused {
        RequestRefused::OutOfTime {
            limit_ms: self.settings.timeout_ms.unwrap_or_default(),
        }
    }

    pub(crate) fn known(&self, task: &TaskId) -> Result<&TaskRecord, RequestRefused> {
        self.task(task).ok_or_else(|| {
            let known = self.tasks().map(|record| record.task.id.clone()).collect();
            RequestRefused::NoSuchTask {
                task: task.clone(),
                known,
            }
        })
    }
}

fn is_unpriced(event: &Event) -> bool {
    matches!(
        event,
        Event::ModelCut {
            micro_usd: None,
            ..
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_counts_from_when_a_message_was_sent() {
        let within = |seconds| Request::Message {
            to: Address::All,
            body: Body::from("hello"),
            kind: None,
            reply_to: None,
            deadline_seconds: Some(seconds),
        };
        let table = [
            (0, Ok(within(30))),
            (12_900, Ok(within(18))),
            (29_999, Ok(within(1))),
            (30_000, Err(RequestRefused::Expired)),
            (u64::MAX, Err(RequestRefused::Expired)),
        ];
        for (waited_ms, expected) in table {
            let waited = Duration::from_millis(waited_ms);
            assert_eq!(within(30).after(waited), expected, "{waited_ms}");
        }
        let retry = Request::RetryFailed { message: None };
        assert_eq!(retry.clone().after(Duration::MAX), Ok(retry));
    }
}
