//! How large a request of an agent may be.

use crate::ids::AgentId;
use crate::run_state::{RunState, TaskRecord};
use crate::settings::{ROOT_AGENT, ROOT_CONTEXT_TOKENS, RunSettings};

impl RunState {
    /// Returns the maximum size of a request of an agent, in tokens; the agent's role may narrow it further.
    ///
    /// Agents of tasks have the context of children. The root, which no task is, has the largest context.
    pub fn token_limit(&self, agent: &AgentId) -> u64 {
        let record = self.task(agent);
        if record.is_none() && agent.as_str() == ROOT_AGENT {
            return ROOT_CONTEXT_TOKENS;
        }
        self.settings.token_limit_of_model(record.and_then(TaskRecord::model))
    }
}

impl RunSettings {
    /// Returns the maximum size of a request of a task's agent to a model, in tokens; the run's own limit if no model
    /// is named, or if none is set for it.
    pub fn token_limit_of_model(&self, model: Option<&str>) -> u64 {
        let of_model = model.and_then(|model| self.context_limits.get(model).copied());
        of_model.map_or(self.context_tokens, |own| own.min(self.context_tokens))
    }
}
