//! Why a request is refused: nothing has changed, and the reason contains what is needed to suggest
//! how to continue.

use serde::{Deserialize, Serialize};

use crate::ids::{CallHash, TaskId};
use crate::messages::MessageRefused;
use crate::secrecy::RedactionError;
use crate::task::TaskState;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "refused", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestRefused {
    /// The task does not exist.
    #[error(
        "there is no task {task} in this run; its tasks are: {}",
        joined(known)
    )]
    NoSuchTask {
        /// The named task.
        task: TaskId,
        /// The tasks of the run.
        known: Vec<TaskId>,
    },
    /// No such call is parked.
    #[error("no tool call {call} waits for a decision")]
    NoSuchCall {
        /// The named call.
        call: CallHash,
    },
    /// The call was not recorded in full, so the user cannot have seen what would run.
    #[error(
        "call {call} cannot be approved: part of it was cut or redacted, so it cannot be shown in \
         full"
    )]
    HiddenCall {
        /// The hash of the call, which stays parked.
        call: CallHash,
    },
    /// The run's settings merge nothing.
    #[error(
        "this run merges nothing, so there is nothing to approve; {} is \
         kept", branch.as_deref().unwrap_or("its branch")
    )]
    NothingIsMerged {
        /// The task whose work was to be approved.
        task: TaskId,
        /// The branch with its work.
        branch: Option<String>,
    },
    /// The task's work does not await a review.
    #[error("{task} is {}, but only work that awaits review can be approved", state.in_words())]
    NotInReview {
        /// The task whose work was to be approved.
        task: TaskId,
        /// The state of the task.
        state: TaskState,
    },
    /// No commit of a person's can become the task's work now.
    #[error("{task} is {}: {}", state.in_words(), not_adoptable(*state))]
    NotAdoptable {
        /// The task.
        task: TaskId,
        /// The state of the task.
        state: TaskState,
    },
    /// The work has changed since it was reviewed.
    #[error("{task} has changed since you reviewed it")]
    Changed {
        /// The task, whose newest tree is not the reviewed one.
        task: TaskId,
    },
    /// The task is being merged.
    #[error("{task} is being merged at this moment; try again when it is done")]
    BeingMerged {
        /// The task whose merge is in progress.
        task: TaskId,
    },
    /// The task was dropped or cancelled before.
    #[error("{task} is {}: there is nothing to drop", state.in_words())]
    NothingToDrop {
        /// The task that was to be dropped.
        task: TaskId,
        /// The state of the task.
        state: TaskState,
    },
    /// Other tasks were built on the task that is to be dropped.
    #[error(
        "{task} cannot be dropped alone, since other tasks depend on it: {}",
        joined(dependents)
    )]
    HasDependents {
        /// The task that was to be dropped.
        task: TaskId,
        /// The tasks that were built on it.
        dependents: Vec<TaskId>,
    },
    /// The work of the task is part of another task's.
    #[error("{task} cannot be dropped alone, since its work is part of that of {parent}")]
    WithinParent {
        /// The task that was to be dropped.
        task: TaskId,
        /// The highest agent above it whose work contains its own.
        parent: TaskId,
    },
    /// The agent that spawned the task has ended without success, so nothing would take its work.
    #[error(
        "{parent}, which spawned {task}, has ended without success, so nothing would take the work \
         of {task}"
    )]
    ParentEnded {
        /// The task that was to be retried or rejected.
        task: TaskId,
        /// The agent that spawned it.
        parent: TaskId,
        /// The agent to retry first, which is the parent or an ancestor of it; `None` if it would
        /// be refused as well.
        #[serde(default)]
        first: Option<TaskId>,
    },
    /// The work of the agents that the task had spawned was dropped with it.
    #[error(
        "{task} was dropped with the work of {}, which is part of its own and would come back with \
         it",
        joined(agents)
    )]
    HoldsDropped {
        /// The task that was to be retried.
        task: TaskId,
        /// The agents that it had spawned.
        agents: Vec<TaskId>,
    },
    /// The work of the task has landed.
    #[error("{task} has landed, so it cannot be dropped")]
    Landed {
        /// The task that was to be dropped; undoing the landing comes first.
        task: TaskId,
    },
    /// The task has no work to return.
    #[error("{task} {}", nothing_to_return(*state))]
    NothingToReturn {
        /// The task that was to be retried or rejected.
        task: TaskId,
        /// The state of the task.
        state: TaskState,
    },
    /// No task has failed that could succeed now.
    #[error("no task of this run has failed, apart from those that need a larger limit")]
    NothingFailed,
    /// The run's time is used up, so restarted work would fail at once.
    #[error("the run's time limit of {} s is used up", seconds(*limit_ms))]
    OutOfTime {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// Tasks are given more of one limit, but the run's time is used up.
    #[error(
        "{} cannot continue: the run's time limit of {} s is used \
         up{}", joined(tasks), seconds(*limit_ms),
        if *more_time { "" } else { " too" }
    )]
    StillOutOfTime {
        /// The tasks that the new limits were meant for.
        tasks: Vec<TaskId>,
        /// The limit, in milliseconds.
        limit_ms: u64,
        /// Whether more tokens were given.
        more_tokens: bool,
        /// Whether more money was given.
        #[serde(default)]
        more_money: bool,
        /// Whether more time was given, though not enough.
        more_time: bool,
    },
    /// The cost of the run is to be limited, but what it has spent is not known.
    #[error(
        "its cost cannot be limited from now on: a model without a known price has answered some \
         of its requests"
    )]
    UnknownCost,
    /// The message is refused.
    #[error("{0}")]
    Message(MessageRefused),
    /// The request is addressed to a process that has ended.
    #[error("the process that it was addressed to has ended")]
    Late,
    /// The message's deadline has passed before a process could deliver it.
    #[error("its deadline has passed before any process worked on the run")]
    Expired,
    /// The request contains a secret that cannot be redacted there.
    #[error("{0}")]
    Secret(RedactionError),
    /// Preparing the run for the request failed.
    #[error("{error}")]
    NotPrepared {
        /// What failed.
        error: String,
    },
}

fn joined(tasks: &[TaskId]) -> String {
    tasks
        .iter()
        .map(TaskId::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

fn not_adoptable(state: TaskState) -> &'static str {
    if state.is_settled() {
        "nothing takes a commit for it any more"
    } else {
        "a commit of yours is taken once its agent has ended or handed over its work"
    }
}

fn nothing_to_return(state: TaskState) -> String {
    if state.is_settled() || state.is_handed_over() && state != TaskState::Committed {
        format!("is {}: there is nothing to return", state.in_words())
    } else {
        "has not ended: there is nothing to retry or to reject yet".to_owned()
    }
}

/// Converts milliseconds to seconds, for display.
fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AgentId;

    #[test]
    fn a_refusal_names_a_state_in_words() {
        let state = TaskState::NothingToDo;
        let (to, task) = (AgentId::new("T1"), TaskId::new("T1"));
        let table = [
            (
                MessageRefused::ReadsNoMore { to, state }.to_string(),
                "agent 'T1' is done without changes and reads no more messages",
            ),
            (
                RequestRefused::NothingToReturn {
                    task: task.clone(),
                    state,
                }
                .to_string(),
                "T1 is done without changes: there is nothing to return",
            ),
            (
                RequestRefused::NothingToDrop {
                    task,
                    state: TaskState::AwaitingReview,
                }
                .to_string(),
                "T1 is awaiting review: there is nothing to drop",
            ),
        ];
        for (said, expected) in table {
            assert_eq!(said, expected);
        }
    }
}
