//! The stage of a task, with the data that exists only in that stage: before its first attempt, and
//! since.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::event::{EndedWait, Event, Wait};
use crate::ids::{CallId, CallOfTurn, Oid, TaskId};
use crate::task::{EndCause, FailureCause, ReturnCause, TaskError, TaskState, TaskStatus, Verify};

/// Why an optional task that was left out has ended.
const LEFT_OUT: &str = "it is optional, and the run leaves out optional tasks";

/// The stage of a task without an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Unstarted {
    /// Waits for its dependencies.
    Pending,
    /// Waits for a free agent.
    Ready,
    /// Its box was ticked already.
    Done,
    /// One of its dependencies did not succeed.
    Skipped {
        /// The dependency.
        because: TaskId,
    },
    /// Will not be carried out.
    Ended(End),
}

/// The stage of a task with an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// It reviews other tasks, and waits for their new work.
    Pending,
    /// Its next attempt waits for a free agent.
    Ready,
    /// An agent works on it, or should.
    Running {
        /// The calls that have started but not ended.
        open_calls: BTreeSet<CallId>,
        /// The newest wait for other agents, whose call is answered next.
        waited: Option<EndedWait>,
    },
    /// A call of its agent waits, or a request to its model; or the agent has finished before those
    /// that it spawned.
    Waiting {
        /// What it waits for.
        wait: Wait,
        /// The call that waits, if it is one.
        of: Option<CallOfTurn>,
        /// The other calls that have started but not ended.
        open_calls: BTreeSet<CallId>,
    },
    /// Its work is the tip of its branch; its own check has not finished.
    Committed(Work),
    /// Its own check has passed, or it has none.
    Verified {
        /// The work.
        work: Work,
        /// Whether this very tree was approved.
        is_approved: bool,
    },
    /// It awaits the user's approval.
    AwaitingReview(Work),
    /// Its work is in the integration branch; a report has none.
    Merged(Option<Work>),
    /// There was nothing to do.
    NothingToDo,
    /// A task that it reviews did not succeed.
    Skipped {
        /// The task.
        because: TaskId,
    },
    /// Its branch could not be merged and is left to the user.
    Conflicted {
        /// Whether it conflicts, or merges cleanly into a tree whose check fails.
        cause: ReturnCause,
        /// The reason, in words.
        message: String,
    },
    /// Ended without success.
    Ended(End),
}

/// An end without success that is possible at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum End {
    /// It failed.
    Failed {
        /// Why.
        cause: FailureCause,
        /// The reason, in words.
        message: String,
        /// Whether the run's time was used up then.
        out_of_time: bool,
    },
    /// It was cancelled.
    Cancelled {
        /// The reason, in words; `None` if its box said so.
        message: Option<String>,
    },
    /// It is optional, and the run leaves such tasks out.
    LeftOut,
    /// The user dropped it.
    Dropped,
}

/// Work that was handed over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Work {
    /// The commit with the work.
    pub(super) commit: Oid,
    /// The tree of that commit.
    pub(super) tree: Oid,
    /// The result of its newest check.
    pub(super) verify: Verify,
}

impl Unstarted {
    /// Returns the initial stage for a box.
    pub(super) fn of_box(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Todo | TaskStatus::InProgress => Self::Pending,
            TaskStatus::Done => Self::Done,
            TaskStatus::Cancelled | TaskStatus::Blocked => {
                Self::Ended(End::Cancelled { message: None })
            }
            TaskStatus::LeftOut => Self::Ended(End::LeftOut),
        }
    }

    /// Returns the state's name.
    pub(super) fn state(&self) -> TaskState {
        match self {
            Self::Pending => TaskState::Pending,
            Self::Ready => TaskState::Ready,
            Self::Done => TaskState::Merged,
            Self::Skipped { .. } => TaskState::Skipped,
            Self::Ended(end) => end.state(),
        }
    }

    /// Returns why the task did not succeed.
    pub(super) fn error(&self) -> Option<TaskError> {
        match self {
            Self::Pending | Self::Ready | Self::Done => None,
            Self::Skipped { because } => Some(skip_error(because)),
            Self::Ended(end) => end.error(),
        }
    }
}

impl Stage {
    /// Returns the stage of an agent that starts or continues to work.
    pub(super) fn running() -> Self {
        Self::Running {
            open_calls: BTreeSet::new(),
            waited: None,
        }
    }

    /// Returns the state's name.
    pub(super) fn state(&self) -> TaskState {
        match self {
            Self::Pending => TaskState::Pending,
            Self::Ready => TaskState::Ready,
            Self::Running { .. } => TaskState::Running,
            Self::Waiting { .. } => TaskState::Waiting,
            Self::Committed(_) => TaskState::Committed,
            Self::Verified { .. } => TaskState::Verified,
            Self::AwaitingReview(_) => TaskState::AwaitingReview,
            Self::Merged(_) => TaskState::Merged,
            Self::NothingToDo => TaskState::NothingToDo,
            Self::Skipped { .. } => TaskState::Skipped,
            Self::Conflicted { .. } => TaskState::Conflicted,
            Self::Ended(end) => end.state(),
        }
    }

    /// Returns the work handed over in this stage.
    pub(super) fn work(&self) -> Option<&Work> {
        match self {
            Self::Committed(work) | Self::Verified { work, .. } | Self::AwaitingReview(work) => {
                Some(work)
            }
            Self::Merged(work) => work.as_ref(),
            _ => None,
        }
    }

    /// Takes that work.
    pub(super) fn into_work(self) -> Option<Work> {
        match self {
            Self::Committed(work) | Self::Verified { work, .. } | Self::AwaitingReview(work) => {
                Some(work)
            }
            Self::Merged(work) => work,
            _ => None,
        }
    }

    /// Returns that work for a change.
    pub(super) fn work_mut(&mut self) -> Option<&mut Work> {
        match self {
            Self::Committed(work) | Self::Verified { work, .. } | Self::AwaitingReview(work) => {
                Some(work)
            }
            Self::Merged(work) => work.as_mut(),
            _ => None,
        }
    }

    /// Returns the calls whose start is recorded and whose end is not.
    pub(super) fn open_calls(&self) -> Option<&BTreeSet<CallId>> {
        match self {
            Self::Running { open_calls, .. } | Self::Waiting { open_calls, .. } => Some(open_calls),
            _ => None,
        }
    }

    /// Returns those calls for a change.
    pub(super) fn open_calls_mut(&mut self) -> Option<&mut BTreeSet<CallId>> {
        match self {
            Self::Running { open_calls, .. } | Self::Waiting { open_calls, .. } => Some(open_calls),
            _ => None,
        }
    }

    /// Returns how the task failed or was cancelled.
    pub(super) fn end(&self) -> Option<&End> {
        match self {
            Self::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Returns the same for a change.
    pub(super) fn end_mut(&mut self) -> Option<&mut End> {
        match self {
            Self::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Returns why the task did not succeed.
    pub(super) fn error(&self) -> Option<TaskError> {
        match self {
            Self::Conflicted { cause, message } => {
                let cause = match cause {
                    ReturnCause::RunCheck | ReturnCause::TaskCheck => {
                        EndCause::Failed(FailureCause::Check)
                    }
                    _ => EndCause::Conflict,
                };
                Some(TaskError {
                    cause,
                    message: message.clone(),
                })
            }
            Self::Ended(end) => end.error(),
            Self::Skipped { because } => Some(skip_error(because)),
            _ => None,
        }
    }
}

/// Returns the error of a task that is skipped because of another one.
fn skip_error(because: &TaskId) -> TaskError {
    TaskError {
        cause: EndCause::Dependency,
        message: format!("{because} did not succeed"),
    }
}

impl End {
    /// Returns the end that an event describes.
    pub(super) fn from_event(event: &Event) -> Option<Self> {
        Some(match event {
            Event::TaskFailed { cause, message, .. } => Self::Failed {
                cause: *cause,
                message: message.clone(),
                out_of_time: false,
            },
            Event::TaskCancelled { message, .. } => Self::Cancelled {
                message: Some(message.clone()),
            },
            _ => return None,
        })
    }

    fn state(&self) -> TaskState {
        match self {
            Self::Failed { .. } => TaskState::Failed,
            Self::Cancelled { .. } | Self::LeftOut | Self::Dropped => TaskState::Cancelled,
        }
    }

    /// Reports whether a person decided that the task is not carried out, in the plan or since. A
    /// task that was only stopped is still wanted.
    pub(super) fn is_given_up(&self) -> bool {
        matches!(
            self,
            Self::Cancelled { message: None } | Self::LeftOut | Self::Dropped
        )
    }

    fn error(&self) -> Option<TaskError> {
        Some(match self {
            Self::Failed { cause, message, .. } => TaskError {
                cause: EndCause::Failed(*cause),
                message: message.clone(),
            },
            Self::Cancelled { message } => TaskError {
                cause: EndCause::Cancelled,
                message: message.clone()?,
            },
            Self::LeftOut => TaskError {
                cause: EndCause::Cancelled,
                message: LEFT_OUT.to_owned(),
            },
            Self::Dropped => TaskError {
                cause: EndCause::Cancelled,
                message: "it was dropped".to_owned(),
            },
        })
    }
}
