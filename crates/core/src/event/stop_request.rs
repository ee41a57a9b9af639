//! A request to stop an agent.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, TaskId};

/// The fact that an agent is to be stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StopRequest {
    /// The task.
    pub task: TaskId,
    /// The agent that asks for it; `None` for a user or a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
}
