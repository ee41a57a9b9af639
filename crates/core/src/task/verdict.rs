//! A reviewing task's verdict: its values, and why one is refused.
//!
//! What a verdict does to a run is decided in [`crate::run`].

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;

/// The maximum size of the requested changes to one task, and of a comment, in bytes: a page for an
/// agent with a small context.
pub const MAX_VERDICT_TEXT_BYTES: usize = 8 * 1024;

/// What a reviewer decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The work may be merged.
    Approve,
    /// Some of the work has to be changed first.
    Changes,
    /// There is nothing to review.
    NothingToDo,
}

/// The changes that a reviewer requests of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RequestedChange {
    /// The task.
    pub task: TaskId,
    /// What to change, for the task's agent.
    pub text: String,
}

/// A reviewer's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReviewVerdict {
    /// The decision.
    pub verdict: VerdictKind,
    /// The requested changes, by task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RequestedChange>,
    /// Remarks that need no change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A verdict that the agent of a reviewing task has given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VerdictGiven {
    /// The task.
    pub task: TaskId,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The requested changes, by task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RequestedChange>,
    /// Remarks that need no change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Why a verdict is refused; the text is for the reviewer's agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum VerdictRefused {
    /// The task ends without a verdict.
    #[error("this task reviews no other task; finish with a report instead")]
    NotAReviewer,
    /// A verdict was given that this one does not sharpen.
    #[error(
        "you have given the verdict already; it stands unless you request changes after an approval"
    )]
    AlreadyGiven,
    /// `changes` without any.
    #[error(
        "the verdict `changes` needs `changes`: for each task to be changed, its id and what to \
         change"
    )]
    NothingRequested,
    /// Changes beside another verdict.
    #[error(
        "only the verdict `changes` may request changes; write remarks that need none into \
         `comment`"
    )]
    RequestedBeside,
    /// A change without a text, or a text that is too long.
    #[error("the changes of {task} need a text of at most {MAX_VERDICT_TEXT_BYTES} bytes")]
    BadText {
        /// The task.
        task: TaskId,
    },
    /// The comment is too long.
    #[error("a comment has at most {MAX_VERDICT_TEXT_BYTES} bytes")]
    LongComment,
    /// The named task does not wait for this verdict.
    #[error("{task} does not wait for your verdict; {}", named(.waiting))]
    NotWaiting {
        /// The named task.
        task: TaskId,
        /// The tasks that wait.
        waiting: Vec<TaskId>,
    },
    /// There is something to review.
    #[error("there is something to review: {}", named(.waiting))]
    SomethingToDo {
        /// The tasks that wait.
        waiting: Vec<TaskId>,
    },
}

fn named(tasks: &[TaskId]) -> String {
    match tasks {
        [] => "no task does".to_owned(),
        tasks => format!(
            "these tasks do: {}",
            tasks
                .iter()
                .map(TaskId::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

impl ReviewVerdict {
    /// Checks what can be checked without the run.
    pub(crate) fn check(&self) -> Result<(), VerdictRefused> {
        let is_change = self.verdict == VerdictKind::Changes;
        if is_change && self.changes.is_empty() {
            return Err(VerdictRefused::NothingRequested);
        }
        if !is_change && !self.changes.is_empty() {
            return Err(VerdictRefused::RequestedBeside);
        }
        if let Some(change) = self.changes.iter().find(is_bad) {
            return Err(VerdictRefused::BadText {
                task: change.task.clone(),
            });
        }
        if self
            .comment
            .as_ref()
            .is_some_and(|comment| comment.len() > MAX_VERDICT_TEXT_BYTES)
        {
            return Err(VerdictRefused::LongComment);
        }
        Ok(())
    }

    /// Returns the verdict as a report.
    pub fn report(&self) -> String {
        let word = match self.verdict {
            VerdictKind::Approve => "approve",
            VerdictKind::Changes => "changes",
            VerdictKind::NothingToDo => "nothing to do",
        };
        match self
            .comment
            .as_deref()
            .map(str::trim)
            .filter(|comment| !comment.is_empty())
        {
            Some(comment) => format!("{word}: {comment}"),
            None => word.to_owned(),
        }
    }
}

fn is_bad(change: &&RequestedChange) -> bool {
    change.text.trim().is_empty() || change.text.len() > MAX_VERDICT_TEXT_BYTES
}
