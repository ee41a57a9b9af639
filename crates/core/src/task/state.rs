//! The state of a task, how it may end, and what follows from that alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::task::cause::FailureCause;

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Waits for its dependencies.
    Pending,
    /// Waits for a free agent.
    Ready,
    /// An agent works on it, or should.
    Running,
    /// A tool call waits, for the user or for other agents.
    Waiting,
    /// Its work is the tip of its branch; its own check has not finished.
    Committed,
    /// Its own check has passed, or it has none.
    Verified,
    /// It awaits the user's approval.
    AwaitingReview,
    /// It is in the integration branch, or its report was delivered.
    Merged,
    /// There was nothing to do; it counts as merged.
    NothingToDo,
    /// It ended without success.
    Failed,
    /// Its branch could not be merged and is left to the user.
    Conflicted,
    /// One of its dependencies did not succeed.
    Skipped,
    /// It was cancelled, or its box said so.
    Cancelled,
}

/// The result of the newest check of a task's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Why a task did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskError {
    /// The class.
    pub cause: EndCause,
    /// The reason in words, with what to do next.
    pub message: String,
}

/// The cause of an end without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// It could not be merged.
    Conflict,
    /// One of its dependencies did not succeed.
    Dependency,
    /// It was cancelled.
    Cancelled,
    /// It failed; in JSON, the failure's own name.
    #[serde(untagged)]
    Failed(FailureCause),
}

/// How a task's agent can be made to work again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopening {
    /// By rejecting the work.
    Reject,
    /// By retrying the task.
    Retry,
    /// By retrying the task that it depends on.
    RetryDependency,
    /// By resuming the run: the task continues by itself.
    Resume,
}

impl TaskState {
    /// Reports whether nothing more happens to the task by itself.
    pub fn is_settled(self) -> bool {
        use TaskState::{Cancelled, Conflicted, Failed, Merged, NothingToDo, Skipped};
        matches!(
            self,
            Merged | NothingToDo | Failed | Conflicted | Skipped | Cancelled
        )
    }

    /// Reports whether the task's agent will send another request by itself, before which it reads
    /// its messages.
    pub fn reads_messages(self) -> bool {
        matches!(
            self,
            TaskState::Pending | TaskState::Ready | TaskState::Running | TaskState::Waiting
        )
    }

    /// Reports whether an agent works on the task, or should.
    #[must_use]
    pub fn is_workable(self) -> bool {
        matches!(
            self,
            TaskState::Ready | TaskState::Running | TaskState::Committed
        )
    }

    /// Reports whether an attempt has begun and not ended: it works, waits for an answer, or is
    /// being checked.
    #[must_use]
    pub fn is_under_way(self) -> bool {
        matches!(
            self,
            TaskState::Running | TaskState::Waiting | TaskState::Committed
        )
    }

    /// Reports whether the work awaits the user's approval.
    #[must_use]
    pub fn awaits_review(self) -> bool {
        self == TaskState::AwaitingReview
    }

    /// Reports whether the work is in the integration branch, the report was delivered, or there
    /// was nothing to do.
    #[must_use]
    pub fn is_merged(self) -> bool {
        matches!(self, TaskState::Merged | TaskState::NothingToDo)
    }

    /// Reports whether the task ended because there was nothing to do.
    #[must_use]
    pub fn did_nothing(self) -> bool {
        self == TaskState::NothingToDo
    }

    /// Reports whether one of the task's dependencies did not succeed.
    #[must_use]
    pub fn is_skipped(self) -> bool {
        self == TaskState::Skipped
    }

    /// Reports whether work that ended this way merges cleanly, into a tree whose check fails.
    /// Programs see the same state as for a conflict, with another cause.
    #[must_use]
    pub fn is_red_merge(self, cause: Option<EndCause>) -> bool {
        self == TaskState::Conflicted && cause.is_some_and(|cause| cause != EndCause::Conflict)
    }

    /// Reports whether an attempt has ended with work that may still need a decision.
    #[must_use]
    pub fn is_handed_over(self) -> bool {
        use TaskState::{AwaitingReview, Committed, Merged, NothingToDo, Verified};
        matches!(
            self,
            Committed | Verified | AwaitingReview | Merged | NothingToDo
        )
    }

    /// Returns how the agent of a task in this state can be made to work again.
    pub fn reopening(self) -> Reopening {
        match self {
            TaskState::Verified
            | TaskState::AwaitingReview
            | TaskState::Merged
            | TaskState::NothingToDo => Reopening::Reject,
            TaskState::Failed | TaskState::Conflicted | TaskState::Cancelled => Reopening::Retry,
            TaskState::Skipped => Reopening::RetryDependency,
            TaskState::Pending
            | TaskState::Ready
            | TaskState::Running
            | TaskState::Waiting
            | TaskState::Committed => Reopening::Resume,
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
            TaskState::NothingToDo => "nothing_to_do",
            TaskState::Failed => "failed",
            TaskState::Conflicted => "conflicted",
            TaskState::Skipped => "skipped",
            TaskState::Cancelled => "cancelled",
        }
    }

    /// Returns the state in words that fit after "the task is".
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            TaskState::AwaitingReview => "awaiting review",
            TaskState::NothingToDo => "done without changes",
            state => state.as_str(),
        }
    }
}

impl EndCause {
    /// Returns what the agent had used up, in a word; `None` if the task ended for another cause.
    pub fn used_up(self) -> Option<&'static str> {
        match self {
            Self::Failed(cause) => cause.used_up(),
            Self::Conflict | Self::Dependency | Self::Cancelled => None,
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
        let ends = [
            EndCause::Conflict,
            EndCause::Dependency,
            EndCause::Failed(FailureCause::NoChanges),
        ];
        let named = ["conflict", "dependency", "no_changes"];
        assert_eq!(ends.map(|end| end.to_string()), named);
        assert_eq!(
            serde_json::to_value(ends).ok(),
            serde_json::to_value(named).ok()
        );
        let read: Vec<Option<EndCause>> = named
            .map(|name| serde_json::from_value(name.into()).ok())
            .into();
        assert_eq!(read, ends.map(Some));
    }
}
