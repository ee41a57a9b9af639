//! The result of checking the base of a run.

use crate::ids::{BlobId, Oid};

/// The result of the base's check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum BaseResult {
    /// It has none.
    #[default]
    Unknown,
    /// It passed.
    Passed,
    /// It failed.
    Failed(RedBase),
    /// It failed, and is tried again.
    FailedSoFar,
}

/// How the check of a base has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedBase {
    /// The tree.
    pub tree: Oid,
    /// The command.
    pub command: String,
    /// How it ended, in words.
    pub exit: String,
    /// Its output.
    pub output: Option<BlobId>,
}
