//! What a task's work changes, compared with its base.

use serde::{Deserialize, Serialize};

use crate::ids::{Oid, TaskId};
use crate::task::test_files::is_test_file;

/// The maximum number of files that are named.
pub const MAX_CHANGED_PATHS: usize = 200;

/// A file that a task's work changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChangedPath {
    /// Git's letter for the change.
    pub status: char,
    /// The path, relative to the repository.
    pub path: String,
}

impl ChangedPath {
    /// Reports whether an existing test is changed or deleted.
    pub(crate) fn changes_test(&self) -> bool {
        self.status != 'A' && is_test_file(&self.path)
    }
}

/// What a task's work changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ComparedWork {
    /// The tree of the work.
    pub tree: Oid,
    /// The files, at most [`MAX_CHANGED_PATHS`].
    pub files: Vec<ChangedPath>,
    /// How many others there are.
    #[serde(default)]
    pub omitted: usize,
    /// Why the change is a high risk, apart from tests that it weakens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<String>,
    /// What it takes from existing tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<String>,
}

/// The fact of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkCompared {
    /// The task.
    pub task: TaskId,
    /// The work.
    #[serde(flatten)]
    pub work: ComparedWork,
}

impl ComparedWork {
    /// Creates the comparison of a tree that changes these files.
    pub fn new(tree: Oid, mut files: Vec<ChangedPath>) -> Self {
        let omitted = files.len().saturating_sub(MAX_CHANGED_PATHS);
        files.truncate(MAX_CHANGED_PATHS);
        Self {
            tree,
            files,
            omitted,
            risks: Vec::new(),
            weakened: Vec::new(),
        }
    }
}
