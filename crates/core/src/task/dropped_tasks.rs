//! The fact that tasks were dropped from a result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Oid, TaskId};

/// Tasks that the user dropped, and what the integration branch was rebuilt to without them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DroppedTasks {
    /// The tasks.
    pub tasks: Vec<TaskId>,
    /// The integration branch's previous tip.
    pub target: Oid,
    /// Its new tip.
    pub commit: Oid,
    /// The merges of other tasks that were made again, each with the commit that replaces it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub merges: BTreeMap<Oid, Oid>,
}
