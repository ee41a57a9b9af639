//! How large a request of an agent may be.

use crate::event::settings::{ROOT_AGENT, RunSettings};
use crate::ids::AgentId;
use crate::record::TaskRecord;
use crate::run::run_state::RunState;
use crate::task::Task;

impl RunState {
    /// Returns the task that is the goal of the run, whose agent is the root; `None` if the run has
    /// a plan.
    pub fn goal(&self) -> Option<&TaskRecord> {
        self.tasks().find(|record| record.task.goal)
    }

    /// Returns the agent that a name stands for: the agent of the goal for [`ROOT_AGENT`], unless a
    /// task has that name.
    pub(super) fn agent_named<'s>(&'s self, name: &'s AgentId) -> &'s AgentId {
        // Only for that name: finding the goal goes through all tasks.
        if name.as_str() != ROOT_AGENT || self.task(name).is_some() {
            return name;
        }
        self.goal().map_or(name, |goal| &goal.task.id)
    }

    /// Returns the maximum size of a request of an agent, in tokens; its role and its model may
    /// narrow it further.
    ///
    /// The root is also found by the name [`ROOT_AGENT`], unless a task has it.
    pub fn token_limit(&self, agent: &AgentId) -> u64 {
        match self.task(self.agent_named(agent)) {
            Some(record) => self.settings.token_limit_of(&record.task, record.model()),
            None if agent.as_str() == ROOT_AGENT => self.settings.root_context_tokens,
            None => self.settings.context_tokens,
        }
    }
}

impl RunSettings {
    /// Returns the maximum size of a request of a task's agent to a model, in tokens; the run's own
    /// limit if no model is named, or if none is set for it.
    pub fn token_limit_of(&self, task: &Task, model: Option<&str>) -> u64 {
        let of_agent = if task.goal {
            self.root_context_tokens
        } else {
            self.context_tokens
        };
        let of_model = model.and_then(|model| self.context_limits.get(model).copied());
        of_model.map_or(of_agent, |own| own.min(of_agent))
    }
}
