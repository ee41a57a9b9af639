//! A new file that looks like a secret.

use serde::{Deserialize, Serialize};

use crate::text::invisible::shown;

/// A new file that looks like a secret: it stays in its worktree, out of every commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WithheldFile {
    /// Its path, relative to the worktree.
    pub path: String,
    /// Why it looks like one.
    pub reason: String,
}

impl std::fmt::Display for WithheldFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", shown(&self.path), self.reason)
    }
}
