//! Where a task stands, with what there is only where it stands: before its first attempt, and since.

use std::collections::BTreeSet;

use crate::event::{Event, FailureCause, ReturnCause};
use crate::ids::{CallHash, CallId, Oid, TaskId};
use crate::task::TaskStatus;
use crate::task_state::{EndCause, TaskError, TaskState, Verify};

/// Where a task stands that no attempt has begun at.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unstarted {
    /// Waits for what it depends on.
    Pending,
    /// Waits for a free agent.
    Ready,
    /// Its box said that it is done.
    Done,
    /// Something that it depends on did not succeed.
    Skipped {
        /// What.
        because: TaskId,
    },
    /// Will not be carried out.
    Ended(End),
}

/// Where a task stands that an attempt has begun at.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// Its next attempt waits for a free agent.
    Ready,
    /// An agent works on it, or should.
    Running {
        /// The calls whose start is recorded and whose end is not.
        open_calls: BTreeSet<CallId>,
    },
    /// A tool call waits for a person.
    Waiting {
        /// The call that waits.
        parked: CallHash,
        /// The other calls whose start is recorded and whose end is not.
        open_calls: BTreeSet<CallId>,
    },
    /// Its work is the tip of its branch; its own check is not done.
    Committed(Work),
    /// Its own check has passed, or it has none.
    Verified {
        /// The work.
        work: Work,
        /// Whether a person approved this very tree.
        is_approved: bool,
    },
    /// A person has to approve it.
    AwaitingReview(Work),
    /// The integration branch holds its work; of a report there is none.
    Merged(Option<Work>),
    /// Its branch waits for a person, since it could not be merged.
    Conflicted {
        /// Whether it conflicts, or merges cleanly into a tree whose check is red.
        cause: ReturnCause,
        /// Why, in words.
        message: String,
    },
    /// Ended without success.
    Ended(End),
}

/// An end without success that can come at any time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// It failed.
    Failed {
        /// Why.
        cause: FailureCause,
        /// Why, in words.
        message: String,
        /// Whether the run's time was used up then.
        out_of_time: bool,
    },
    /// It was called off.
    Cancelled {
        /// Why, in words; `None` if its box said so.
        message: Option<String>,
    },
}

/// Work that was handed over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Work {
    /// The commit that holds it.
    pub(super) commit: Oid,
    /// The tree of that commit.
    pub(super) tree: Oid,
    /// What the newest check of it said.
    pub(super) verify: Verify,
}

impl Unstarted {
    /// Returns where a task begins by what its box says.
    pub(super) fn of_box(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Todo | TaskStatus::InProgress => Self::Pending,
            TaskStatus::Done => Self::Done,
            TaskStatus::Cancelled | TaskStatus::Blocked => Self::Ended(End::Cancelled { message: None }),
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

    /// Returns why the task ended without success.
    pub(super) fn error(&self) -> Option<TaskError> {
        match self {
            Self::Pending | Self::Ready | Self::Done => None,
            Self::Skipped { because } => {
                Some(TaskError { cause: EndCause::Dependency, message: format!("{because} did not succeed") })
            }
            Self::Ended(end) => end.error(),
        }
    }
}

impl Stage {
    /// Returns the stage of an agent that begins to work, or goes on.
    pub(super) fn running() -> Self {
        Self::Running { open_calls: BTreeSet::new() }
    }

    /// Returns the state's name.
    pub(super) fn state(&self) -> TaskState {
        match self {
            Self::Ready => TaskState::Ready,
            Self::Running { .. } => TaskState::Running,
            Self::Waiting { .. } => TaskState::Waiting,
            Self::Committed(_) => TaskState::Committed,
            Self::Verified { .. } => TaskState::Verified,
            Self::AwaitingReview(_) => TaskState::AwaitingReview,
            Self::Merged(_) => TaskState::Merged,
            Self::Conflicted { .. } => TaskState::Conflicted,
            Self::Ended(end) => end.state(),
        }
    }

    /// Returns the work that is handed over here.
    pub(super) fn work(&self) -> Option<&Work> {
        match self {
            Self::Committed(work) | Self::Verified { work, .. } | Self::AwaitingReview(work) => Some(work),
            Self::Merged(work) => work.as_ref(),
            Self::Ready | Self::Running { .. } | Self::Waiting { .. } | Self::Conflicted { .. } | Self::Ended(_) => {
                None
            }
        }
    }

    /// Takes that work.
    pub(super) fn into_work(self) -> Option<Work> {
        match self {
            Self::Committed(work) | Self::Verified { work, .. } | Self::AwaitingReview(work) => Some(work),
            Self::Merged(work) => work,
            Self::Ready | Self::Running { .. } | Self::Waiting { .. } | Self::Conflicted { .. } | Self::Ended(_) => {
                None
            }
        }
    }

    /// Returns that work for a change.
    pub(super) fn work_mut(&mut self) -> Option<&mut Work> {
        match self {
            Self::Committed(work) | Self::Verified { work, .. } | Self::AwaitingReview(work) => Some(work),
            Self::Merged(work) => work.as_mut(),
            Self::Ready | Self::Running { .. } | Self::Waiting { .. } | Self::Conflicted { .. } | Self::Ended(_) => {
                None
            }
        }
    }

    /// Returns the calls whose start is recorded and whose end is not.
    pub(super) fn open_calls(&self) -> Option<&BTreeSet<CallId>> {
        match self {
            Self::Running { open_calls } | Self::Waiting { open_calls, .. } => Some(open_calls),
            _ => None,
        }
    }

    /// Returns those calls for a change.
    pub(super) fn open_calls_mut(&mut self) -> Option<&mut BTreeSet<CallId>> {
        match self {
            Self::Running { open_calls } | Self::Waiting { open_calls, .. } => Some(open_calls),
            _ => None,
        }
    }

    /// Returns how the task failed or was called off.
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

    /// Returns why the task ended without success.
    pub(super) fn error(&self) -> Option<TaskError> {
        match self {
            Self::Conflicted { cause, message } => {
                let cause = match cause {
                    ReturnCause::RunCheck | ReturnCause::TaskCheck => EndCause::Failed(FailureCause::Check),
                    _ => EndCause::Conflict,
                };
                Some(TaskError { cause, message: message.clone() })
            }
            Self::Ended(end) => end.error(),
            _ => None,
        }
    }
}

impl End {
    /// Returns the end that a fact tells of.
    pub(super) fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::TaskFailed { cause, message, .. } => {
                Self::Failed { cause: *cause, message: message.clone(), out_of_time: false }
            }
            Event::TaskCancelled { message, .. } => Self::Cancelled { message: Some(message.clone()) },
            _ => return None,
        })
    }

    fn state(&self) -> TaskState {
        match self {
            Self::Failed { .. } => TaskState::Failed,
            Self::Cancelled { .. } => TaskState::Cancelled,
        }
    }

    fn error(&self) -> Option<TaskError> {
        Some(match self {
            Self::Failed { cause, message, .. } => {
                TaskError { cause: EndCause::Failed(*cause), message: message.clone() }
            }
            Self::Cancelled { message } => TaskError { cause: EndCause::Cancelled, message: message.clone()? },
        })
    }
}
