//! The branch that finished work is merged into.

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;

/// The branch that finished work is merged into.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MergeTarget {
    /// The run's integration branch.
    #[default]
    Integration,
    /// The branch of the agent that spawned the task.
    Agent(AgentId),
}

impl MergeTarget {
    /// Reports whether it is the run's integration branch.
    pub fn is_integration(&self) -> bool {
        *self == Self::Integration
    }

    /// Returns the agent that the branch belongs to; `None` for the integration branch.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Integration => None,
            Self::Agent(agent) => Some(agent),
        }
    }
}
