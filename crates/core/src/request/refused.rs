//! Why a request is refused: nothing has changed, and the reason carries what is needed to say how to go on.

use serde::{Deserialize, Serialize};

use crate::ids::{CallHash, TaskId};
use crate::redact::RedactionError;
use crate::run_state::MessageRefused;
use crate::task_state::TaskState;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "refused", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestRefused {
    /// No such task.
    #[error("there is no task {task} in this run; its tasks are: {}", joined(known))]
    NoSuchTask {
        /// What was named.
        task: TaskId,
        /// The tasks of the run.
        known: Vec<TaskId>,
    },
    /// No such call waits for a person.
    #[error("no parked call {call}")]
    NoSuchCall {
        /// What was named.
        call: CallHash,
    },
    /// Not all of the call was recorded, so no person can have seen what would run.
    #[error("call {call} cannot be approved: part of it was cut or redacted, so it cannot be shown in full")]
    HiddenCall {
        /// The call.
        call: CallHash,
    },
    /// The run's settings merge nothing.
    #[error(
        "this run merges nothing, so there is nothing to approve; {} is kept", branch.as_deref().unwrap_or("its branch")
    )]
    NothingIsMerged {
        /// The task.
        task: TaskId,
        /// The branch with its work.
        branch: Option<String>,
    },
    /// The task's work does not await a review.
    #[error("{task} is {}, but only work that awaits review can be approved", state.as_str())]
    NotInReview {
        /// The task.
        task: TaskId,
        /// The state of the task.
        state: TaskState,
    },
    /// The work is not what was approved.
    #[error("{task} has changed since you reviewed it")]
    Changed {
        /// The task.
        task: TaskId,
    },
    /// The task is being merged.
    #[error("{task} is being merged at this moment; try again when it is done")]
    BeingMerged {
        /// The task.
        task: TaskId,
    },
    /// The task has no work that could be sent back.
    #[error("{task} {}", nothing_to_return(*state))]
    NothingToReturn {
        /// The task.
        task: TaskId,
        /// The state of the task.
        state: TaskState,
    },
    /// The run's time is used up, so whatever is set going would fail at once.
    #[error("the run's time limit of {} s is used up", seconds(*limit_ms))]
    OutOfTime {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// Tasks are given more of one limit, and the run's time is used up all the same.
    #[error(
        "{} cannot continue: the run's time limit of {} s is used up{}", joined(tasks), seconds(*limit_ms),
        if *more_time { "" } else { " too" }
    )]
    StillOutOfTime {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// The limit, in milliseconds.
        limit_ms: u64,
        /// Whether more tokens were given.
        more_tokens: bool,
        /// Whether more time was given, though not enough.
        more_time: bool,
    },
    /// The message is refused.
    #[error("{0}")]
    Message(MessageRefused),
    /// The request is for a process that had ended.
    #[error("the process that it was addressed to has ended")]
    Late,
    /// The request holds a secret where it cannot be taken out.
    #[error("{0}")]
    Secret(RedactionError),
    /// The run could not be prepared for carrying it out.
    #[error("{error}")]
    NotPrepared {
        /// What failed, in the words of the error.
        error: String,
    },
}

fn joined(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}

fn nothing_to_return(state: TaskState) -> String {
    if state.is_settled() || state.is_handed_over() && state != TaskState::Committed {
        format!("is {}: there is nothing to return", state.as_str())
    } else {
        "has not ended: there is nothing to return yet".to_owned()
    }
}

/// Returns milliseconds as seconds, for people.
fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}
