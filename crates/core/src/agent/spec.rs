//! What an agent is created from: its texts, its tools, its models and its limits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::conversation::ToolSpec;
use crate::ids::TaskId;
use crate::policy::tool_names::ToolNames;

/// What an agent is created from; fixed for its whole life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The task, whose id is the agent's.
    pub task: TaskId,
    /// `provider/model`.
    pub model: String,
    /// The models that take over while the endpoint of `model` is out, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// The system text: role, project instructions and how to work here.
    pub system: String,
    /// The role's tools, in a fixed order; shared, since they are the largest part of it.
    pub tools: Arc<[ToolSpec]>,
    /// The first message: the task.
    pub instruction: String,
    /// Maximum size of a request to `model` in tokens.
    pub context_tokens: u64,
    /// Maximum size of a reply in tokens.
    pub max_output_tokens: u32,
    /// Maximum number of turns in one attempt.
    pub max_turns: u32,
    /// The JSON Schema of the answer that its last reply has to be; `None` for words of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Value>,
    /// Whether a call is refused that has had the same result too often; not for agents of older
    /// journals.
    #[serde(default)]
    pub refuses_repeats: bool,
}

/// A model that takes over while the endpoint of the one before it is out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// `provider/model`.
    pub model: String,
    /// Maximum size of a request to it in tokens.
    pub context_tokens: u64,
}

impl AgentSpec {
    /// Returns the number of models that it can use.
    pub fn models(&self) -> usize {
        1 + self.fallbacks.len()
    }

    /// Reports whether the agent can resolve a conflict in a file that is not text: keep it,
    /// restore a version, or delete it.
    pub fn can_resolve_binary(&self, names: &ToolNames) -> bool {
        names
            .deleting()
            .any(|name| self.tools.iter().any(|tool| tool.name == name))
    }

    /// Returns a model's name and the maximum size of a request to it; 0 is its own, the others are
    /// its fall-backs.
    pub fn model(&self, number: usize) -> Option<(&str, u64)> {
        match number.checked_sub(1) {
            None => Some((&self.model, self.context_tokens)),
            Some(at) => self
                .fallbacks
                .get(at)
                .map(|fallback| (fallback.model.as_str(), fallback.context_tokens)),
        }
    }
}
