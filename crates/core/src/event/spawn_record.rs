//! What is recorded with a child.

use serde::{Deserialize, Serialize};

use crate::ids::{BlobId, CallOfTurn, Oid};
use crate::policy::Authority;

/// How a child began: at whose call, from where, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpawnRecord {
    /// The call of its parent that spawned it; `None` if a program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallOfTurn>,
    /// The commit that its first attempt starts from, with its parent's work so far; `None` for the
    /// run's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Oid>,
    /// What it may do.
    pub authority: Authority,
    /// What it is given beside its task: text, or JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<BlobId>,
}
