//! Where a task stands, and what may follow from that alone.

use serde::{Deserialize, Serialize};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Waits for what it depends on.
    Pending,
    /// Waits for a free agent.
    Ready,
    /// An agent works on it, or should.
    Running,
    /// A tool call waits for a person.
    Waiting,
    /// Its work is the tip of its branch; its own check is not done.
    Committed,
    /// Its own check has passed, or it has none.
    Verified,
    /// A person has to approve it.
    AwaitingReview,
    /// The integration branch holds it; or its report is there.
    Merged,
    /// It ended without success.
    Failed,
    /// Its branch waits for a person, since it could not be merged.
    Conflicted,
    /// Something that it depends on did not succeed.
    Skipped,
    /// It was called off, or its box said so.
    Cancelled,
}

impl TaskState {
    /// Reports whether nothing more happens to the task by itself.
    pub fn is_settled(self) -> bool {
        use TaskState::{Cancelled, Conflicted, Failed, Merged, Skipped};
        matches!(self, Merged | Failed | Conflicted | Skipped | Cancelled)
    }

    /// Reports whether the task's agent will send another request by itself, before which it reads its messages.
    pub fn reads_messages(self) -> bool {
        matches!(self, TaskState::Pending | TaskState::Ready | TaskState::Running | TaskState::Waiting)
    }

    /// Reports whether an agent works on the task, or should.
    #[must_use]
    pub fn is_workable(self) -> bool {
        matches!(self, TaskState::Ready | TaskState::Running | TaskState::Committed)
    }

    /// Reports whether an attempt has ended with work, of which something may still have to be decided.
    #[must_use]
    pub fn is_handed_over(self) -> bool {
        matches!(self, TaskState::Committed | TaskState::Verified | TaskState::AwaitingReview | TaskState::Merged)
    }

    /// Returns how the agent of a task in this state can be set to work again.
    pub fn reopening(self) -> Reopening {
        match self {
            TaskState::Verified | TaskState::AwaitingReview | TaskState::Merged => Reopening::Reject,
            TaskState::Failed | TaskState::Conflicted | TaskState::Cancelled => Reopening::Retry,
            TaskState::Skipped => Reopening::RetryDependency,
            TaskState::Pending | TaskState::Ready | TaskState::Running | TaskState::Waiting | TaskState::Committed => {
                Reopening::Resume
            }
        }
    }

    /// Returns the state's name in JSON and on the terminal.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskState::Pending => "pending",
            TaskState::Ready => "ready",
            TaskState::Running => "running",
            TaskState::Waiting => "waiting",
            TaskState::Committed => "committed",
            TaskState::Verified => "verified",
            TaskState::AwaitingReview => "awaiting_review",
            TaskState::Merged => "merged",
            TaskState::Failed => "failed",
            TaskState::Conflicted => "conflicted",
            TaskState::Skipped => "skipped",
            TaskState::Cancelled => "cancelled",
        }
    }
}

/// How the agent of a task can be set to work again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopening {
    /// A person rejects the work.
    Reject,
    /// A person lets the task try again.
    Retry,
    /// A person lets the task that it depends on try again.
    RetryDependency,
    /// No person is needed: the task goes on by itself while the run does.
    Resume,
}
