//! What a person has chosen of a task's work.

use serde::{Deserialize, Serialize};

use crate::ids::{BlobId, Oid};

/// What a person has chosen of a task's work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Chosen {
    /// The tree that was approved before its check.
    pub(super) approved: Option<Oid>,
    /// The message with which the rest is returned to the agent once this is merged.
    pub(super) rest: Option<BlobId>,
    /// Whether a part was merged, and the agent works on the rest.
    pub(super) is_part: bool,
}
