//! How large a request of an agent may be.

use crate::ids::AgentId;
use crate::run_state::RunState;
use crate::settings::{ROOT_AGENT, ROOT_CONTEXT_TOKENS};

impl RunState {
    /// Returns the maximum size of a request of an agent, in tokens; the agent's role may narrow it further.
    ///
    /// Agents of tasks have the context of children. The root, which no task is, has the largest context.
    pub fn token_limit(&self, agent: &AgentId) -> u64 {
        let record = self.task(agent);
        if record.is_none() && agent.as_str() == ROOT_AGENT {
            return ROOT_CONTEXT_TOKENS;
        }
        let of_model = record.and_then(|record| self.settings.context_limits.get(record.model()?));
        self.settings.context_tokens.min(of_model.copied().unwrap_or(u64::MAX))
    }

    /// Reports whether a request of this estimated size is within the limit of an agent.
    pub fn is_within_token_limit(&self, agent: &AgentId, estimated_tokens: u64) -> bool {
        estimated_tokens <= self.token_limit(agent)
    }
}
