//! One tool: what it is called, what it takes, what it needs, and how it runs.

use std::path::Path;

use async_trait::async_trait;
use orchestrate_core::policy::{Permission, Target};
use serde_json::Value;

use crate::context::ToolContext;
use crate::error::ToolError;
use crate::output::Answer;
use crate::path;

/// What a tool works on: how the catalogue is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Files of the worktree.
    Files,
    /// Programs.
    Exec,
    /// The agent's branch.
    Git,
    /// Hosts outside.
    Web,
    /// Other agents.
    Agents,
    /// Understanding code.
    Analysis,
    /// The agent's own notes.
    Memory,
}

/// A tool. One instance serves all agents at once, so it holds nothing that belongs to a call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns the canonical name.
    fn name(&self) -> &str;

    /// Says what it does, for the model.
    fn description(&self) -> &str;

    /// Returns its place in the catalogue.
    fn category(&self) -> Category;

    /// Returns what the caller's role has to grant.
    fn permission(&self) -> Permission;

    /// Returns the JSON Schema of its arguments, an object.
    fn schema(&self) -> &Value;

    /// Names the arguments that are paths in the worktree; the executor rewrites them relative to its root.
    fn path_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Rewrites the path arguments to what will be opened, and refuses those that lie outside.
    ///
    /// # Errors
    /// `Denied` for a path outside the worktree or of git's own, `Retry` for what is no path.
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

    /// Checks what the schema cannot say.
    ///
    /// # Errors
    /// A text that goes behind `Invalid parameters`: which field, what was expected, what came.
    fn validate(&self, _arguments: &Value) -> Result<(), String> {
        Ok(())
    }

    /// Says what a call would touch, for the policy; by default the path arguments that are given.
    fn targets(&self, arguments: &Value) -> Vec<Target> {
        let given = self.path_fields().iter().filter_map(|field| arguments.get(*field).and_then(Value::as_str));
        given.map(|path| Target::Path(path.to_owned())).collect()
    }

    /// Explains the tool with its parameters, for people.
    fn help(&self) -> String {
        let parameters = serde_json::to_string_pretty(self.schema()).unwrap_or_default();
        format!("{}: {}\n\nParameters:\n{parameters}\n", self.name(), self.description())
    }

    /// Runs one call. The arguments have been validated and their paths rewritten.
    ///
    /// # Errors
    /// The class of [`ToolError`] that says what can be done about it.
    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError>;
}
