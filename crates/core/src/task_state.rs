//! Where a task stands and how it may end, and what follows from that alone.

use serde::{Deserialize, Serialize};

use crate::event::FailureCause;

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

/// What the newest check of a task's work said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// There was none.
    #[default]
    None,
}

/// Why a task ended without success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskError {
    /// The class.
    pub cause: EndCause,
    /// In words, with what to do next.
    pub message: String,
}

/// What kind of end without success a task came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// It could not be merged.
    Conflict,
    /// Something that it depends on did not succeed.
    Dependency,
    /// It was called off.
    Cancelled,
    /// It failed; in JSON, the failure's own name.
    #[serde(untagged)]
    Failed(FailureCause),
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

    /// Reports whether an attempt has begun and has not ended: it works, waits for an answer, or is being checked.
    #[must_use]
    pub fn is_under_way(self) -> bool {
        matches!(self, TaskState::Running | TaskState::Waiting | TaskState::Committed)
    }

    /// Reports whether a person has to answer before the task goes on, about a tool call or about its work.
    #[must_use]
    pub fn waits_for_person(self) -> bool {
        self == TaskState::Waiting || self.awaits_review()
    }

    /// Reports whether a person has to approve the work.
    #[must_use]
    pub fn awaits_review(self) -> bool {
        self == TaskState::AwaitingReview
    }

    /// Reports whether the integration branch holds the work, or its report is there.
    #[must_use]
    pub fn is_merged(self) -> bool {
        self == TaskState::Merged
    }

    /// Reports whether something that the task depends on did not succeed.
    #[must_use]
    pub fn is_skipped(self) -> bool {
        self == TaskState::Skipped
    }

    /// Reports whether work that ended so merges cleanly, into a tree whose check is red. Programs are told the same
    /// state as for a conflict, with another cause.
    #[must_use]
    pub fn is_red_merge(self, cause: Option<EndCause>) -> bool {
        self == TaskState::Conflicted && cause.is_some_and(|cause| cause != EndCause::Conflict)
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

impl std::fmt::Display for EndCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_has_one_name_for_people_and_programs() {
        let ends = [EndCause::Conflict, EndCause::Dependency, EndCause::Failed(FailureCause::NoChanges)];
        let named = ["conflict", "dependency", "no_changes"];
        assert_eq!(ends.map(|end| end.to_string()), named);
        assert_eq!(serde_json::to_value(ends).ok(), serde_json::to_value(named).ok());
        let read: Vec<Option<EndCause>> = named.map(|name| serde_json::from_value(name.into()).ok()).into();
        assert_eq!(read, ends.map(Some));
    }
}
