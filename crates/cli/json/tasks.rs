//! The outputs of the commands about a task's work.

use orchestrate_core::projections::review::{ChangedFile, ReviewEntry};
use orchestrate_core::task::TaskError;
use orchestrate_core::{HandBack, Oid, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The branch of one task, with its diff and what is known of it in words.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TaskReview {
    #[serde(flatten)]
    pub(crate) entry: ReviewEntry,
    /// Its changes as a unified diff, secrets redacted.
    pub(crate) diff: String,
    /// The report of its agent.
    pub(crate) summary: String,
    /// What its agent hands back; null before its work has ended.
    pub(crate) hand_back: Option<HandBack>,
    /// Why it did not succeed.
    pub(crate) error: Option<TaskError>,
}

/// The changes of a whole result.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunDiff {
    /// Where the run started.
    pub(crate) base_commit: Oid,
    /// The tip of its result.
    pub(crate) integration_commit: Oid,
    /// The files.
    pub(crate) files: Vec<ChangedFile>,
    /// The changes as a unified diff that applies.
    pub(crate) diff: String,
}

/// The changes of a task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TaskDiff {
    /// The task.
    pub(crate) task: TaskId,
    /// Attempts begun.
    pub(crate) attempt: u32,
    /// Its branch.
    pub(crate) branch: Option<String>,
    /// The commit with its finished work.
    pub(crate) commit: Option<Oid>,
    /// The tree of that commit, which an approval is bound to.
    pub(crate) tree: Option<Oid>,
    /// The files.
    pub(crate) files: Vec<ChangedFile>,
    /// The changes as a unified diff that applies.
    pub(crate) diff: String,
}
