//! Roles that a program defines.

use orchestrate_coordinator::ProgramRole;

/// A role: what an agent is told, and the tools that it has. It takes precedence over roles of the
/// same name in files.
///
/// ```
/// use orchestrate::Role;
///
/// let reader = Role::new("reader").prompt("Answer from the code.").tools(["read_file", "grep"]);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Role(pub(crate) ProgramRole);

impl Role {
    /// Creates a role of this name (lower-case letters, digits, `-` and `_`) with the default
    /// tools. It needs a [`prompt`](Self::prompt).
    pub fn new(name: impl Into<String>) -> Self {
        Self(ProgramRole {
            name: name.into(),
            ..ProgramRole::default()
        })
    }

    /// Sets what its agents are told.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.0.prompt = prompt.into();
        self
    }

    /// Says in one line when to use it, for agents that spawn others.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = description.into();
        self
    }

    /// Sets the tools that its agents have, by any of their names. Without a tool that changes
    /// files, its agents deliver a report.
    pub fn tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.0.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the model of its agents, as `provider/model`.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.0.model = Some(model.into());
        self
    }

    /// Sets the maximum number of turns of an attempt.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.0.max_turns = Some(turns);
        self
    }
}
