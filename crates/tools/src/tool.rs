//! The tool interface: name, schema, permission and execution.

use std::path::Path;

use async_trait::async_trait;
use orchestrate_core::policy::{Permission, Target};
use serde_json::Value;

use crate::context::ToolContext;
use crate::error::ToolError;
use crate::output::Answer;
use crate::path;

/// What a tool works on, for listing the tools of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Reads or changes files of the worktree.
    Files,
    /// Runs programs.
    Exec,
    /// Works on the agent's branch.
    Git,
    /// Connects to remote hosts.
    Web,
    /// Communicates with other agents.
    Agents,
    /// Analyses code.
    Analysis,
    /// Keeps the agent's own notes.
    Memory,
}

/// A tool. One instance serves all agents concurrently, so it must not store anything that belongs to a call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns the canonical name.
    fn name(&self) -> &str;

    /// Returns the description for the model.
    fn description(&self) -> &str;

    /// Returns the category in the catalogue.
    fn category(&self) -> Category;

    /// Returns the permission that the caller's role must grant.
    fn permission(&self) -> Permission;

    /// Reports whether roles that list no tools have it.
    fn is_default(&self) -> bool {
        true
    }

    /// Reports whether a call can change files of the worktree; a role with no such tool is read-only.
    fn changes_files(&self) -> bool {
        use Permission::{AgentSpawn, CodeExecution, FileModify, FileWrite};
        matches!(self.permission(), FileWrite | FileModify | CodeExecution | AgentSpawn)
    }

    /// Reports whether the newest result is the agent's list of steps, which is never left out of its context.
    fn lists_steps(&self) -> bool {
        false
    }

    /// Returns the JSON Schema of the arguments, which must describe an object.
    fn schema(&self) -> &Value;

    /// Returns the names of arguments that are paths in the worktree; the executor rewrites them
    /// relative to its root.
    fn path_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Rewrites path arguments to the paths that will be opened, and refuses those outside the worktree.
    ///
    /// # Errors
    /// `Denied` for a path that is outside the worktree or belongs to git, `Retry` for an invalid path.
    fn normalize(&self, arguments: &mut Value, worktree: &Path) -> Result<(), ToolError> {
        for field in self.path_fields() {
            if let Some(value) = arguments.get_mut(*field)
                && let Some(text) = value.as_str()
            {
                *value = Value::String(path::normalize(text, worktree)?);
            }
        }
        Ok(())
    }

    /// Checks requirements that the schema cannot express.
    ///
    /// # Errors
    /// `Retry`, with the field, the expected value and the given one.
    fn validate(&self, _arguments: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    /// Returns what a call would affect, for the policy; by default the path arguments that are present.
    fn targets(&self, arguments: &Value) -> Vec<Target> {
        let given = self.path_fields().iter().filter_map(|field| arguments.get(*field).and_then(Value::as_str));
        given.map(|path| Target::Path(path.to_owned())).collect()
    }

    /// Returns a description of the tool and its parameters for users.
    fn help(&self) -> String {
        let parameters = serde_json::to_string_pretty(self.schema()).unwrap_or_default();
        format!("{}: {}\n\nParameters:\n{parameters}\n", self.name(), self.description())
    }

    /// Runs one call. The arguments have been validated, and their paths rewritten.
    ///
    /// # Errors
    /// Returns the [`ToolError`] whose class matches the possible reaction.
    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError>;
}
