//! Which new files a run's commits take, besides what the built-in table says.

use serde::{Deserialize, Serialize};

/// The user's and the project's additions to the table of files that stay out of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommitSettings {
    /// Globs over paths that are left out as scratch files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<String>,
    /// Globs over paths that the user takes into commits whatever they look like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Globs over paths that the repository takes although they look like scratch files; what looks
    /// like a secret stays out, since a repository cannot widen what its user allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_scratch: Vec<String>,
}

impl CommitSettings {
    /// Reports whether nothing is added.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
