//! Work that a person has made or chosen.

use serde::{Deserialize, Serialize};

use crate::ids::{BlobId, Oid, TaskId};

/// A person's commit on a task's branch became the task's finished work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AdoptedWork {
    /// The task.
    pub task: TaskId,
    /// The branch's tip.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Whether the person has approved this very tree.
    #[serde(default)]
    pub approved: bool,
    /// Files that look like secrets, and that the person has taken all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admitted: Vec<String>,
    /// The message to the agent, to which the rest of its work returns once this is merged; `None`
    /// if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<BlobId>,
}
