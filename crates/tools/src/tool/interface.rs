//! The tool interface: name, schema, permission and execution.

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use orchestrate_core::CallId;
use orchestrate_core::policy::Permission;
use serde_json::Value;

use super::context::ToolContext;
use super::prepared::{CallSite, Prepared};
use super::properties::ToolProperties;
use crate::answer::{Answer, ToolError};
use crate::template::CommandTemplate;

/// The longest name of a tool that all providers accept.
pub(crate) const MAX_NAME: usize = 64;

/// Reports whether all providers accept a text as the name of a tool.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME && text.chars().all(is_plain)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// What a tool works on, for listing the tools of one kind. Plugins may bring their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Category(Cow<'static, str>);

impl Category {
    /// Reads or changes files of the worktree.
    pub const FILES: Category = Category(Cow::Borrowed("files"));
    /// Runs programs.
    pub const EXEC: Category = Category(Cow::Borrowed("exec"));
    /// Works on the agent's branch.
    pub const GIT: Category = Category(Cow::Borrowed("git"));
    /// What the tools that reach remote repositories need.
    pub(crate) const REMOTES: Category = Category(Cow::Borrowed("remotes"));
    /// Reads pages of the web and asks its services.
    pub const WEB: Category = Category(Cow::Borrowed("web"));
    /// Communicates with other agents.
    pub const AGENTS: Category = Category(Cow::Borrowed("agents"));
    /// Analyses code.
    pub const ANALYSIS: Category = Category(Cow::Borrowed("analysis"));
    /// Keeps the agent's own notes.
    pub const MEMORY: Category = Category(Cow::Borrowed("memory"));

    /// Creates the category of this name.
    pub fn named(name: impl Into<String>) -> Category {
        Category(Cow::Owned(name.into()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for dyn Tool + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl dyn Tool + '_ {
    /// Returns the permission that the caller's role must grant.
    pub fn permission(&self) -> Permission {
        self.properties().permission
    }

    /// Returns the names of arguments that are paths in the worktree.
    pub fn path_fields(&self) -> &'static [&'static str] {
        self.properties().path_fields
    }
}

/// A tool. One instance serves all agents concurrently, so it must not store anything that belongs
/// to a call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns the canonical name.
    fn name(&self) -> &str;

    /// Returns the title for users; by default the name.
    fn title(&self) -> &str {
        self.name()
    }

    /// Returns the description for the model.
    fn description(&self) -> &str;

    /// Returns the category in the catalogue.
    fn category(&self) -> Category;

    /// Returns what is constant of the tool, for roles, rules and the executor.
    fn properties(&self) -> ToolProperties;

    /// Returns the JSON Schema of the arguments, which must describe an object.
    fn schema(&self) -> &Value;

    /// Returns a call with these arguments, which the schema describes, as it is decided about and
    /// run; by default one that affects what its path arguments name. A call is prepared without
    /// looking at anything outside its arguments, and a prepared call is prepared as it is.
    ///
    /// # Errors
    /// `Denied` for a path that is outside the worktree or belongs to git, `Retry` for an invalid
    /// path.
    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Prepared::on_paths(self.properties(), site, arguments)
    }

    /// Returns what makes it wrappable by `.tool` files; `None` if they can only give it other
    /// names.
    fn as_wrap(&self) -> Option<&dyn Wrap> {
        None
    }

    /// Returns what answers its calls, if they may wait for what other agents do, or must have
    /// their effect once. Only those of built-in tools may.
    fn as_waits(&self) -> Option<&dyn Waits> {
        None
    }

    /// Returns the tool that its calls go to, if it is a wrapper.
    fn wrapping(&self) -> Option<Wrapping<'_>> {
        None
    }

    /// Returns a description of the tool and its parameters for users.
    fn help(&self) -> String {
        let parameters = serde_json::to_string_pretty(self.schema()).unwrap_or_default();
        format!(
            "{}: {}\n\nParameters:\n{parameters}\n",
            self.name(),
            self.description()
        )
    }

    /// Runs one call, with the arguments that it was prepared with.
    ///
    /// # Errors
    /// Returns the [`ToolError`] whose class matches the possible reaction.
    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError>;
}

/// What makes a tool wrappable.
pub trait Wrap {
    /// Returns the arguments of this tool for a call of a wrapper: those that the template makes of
    /// the wrapper's arguments, or these as they are if the wrapper has no template. They are
    /// validated already, except that their values may not fit their slots.
    ///
    /// # Errors
    /// `Retry`, with the argument that does not fit.
    fn deserialize_wrapped(
        &self,
        arguments: &Value,
        template: Option<&CommandTemplate>,
    ) -> Result<Value, ToolError>;

    /// Reports whether it takes its arguments as one list of words as well, in the argument
    /// `arguments`.
    fn takes_words(&self) -> bool {
        false
    }
}

/// A tool whose calls are answered from the state of the run, and may wait. A call without an
/// answer is made again, so what it records is recorded once, whatever interrupts it.
#[async_trait]
pub trait Waits: Send + Sync {
    /// Answers a call, or records what it waits for and returns `None`: the same call is made again
    /// once that has happened, perhaps by another process.
    ///
    /// # Errors
    /// Returns the [`ToolError`] whose class matches the possible reaction.
    async fn answer(
        &self,
        context: &ToolContext,
        call: &CallId,
        arguments: Value,
    ) -> Result<Option<Answer>, ToolError>;
}

/// What a wrapper wraps.
#[derive(Clone, Copy, Debug)]
pub struct Wrapping<'a> {
    /// The canonical name of the wrapped tool, whose rules hold for the wrapper's calls as well.
    pub tool: &'a str,
    /// The command that the arguments fill; `None` if they go to the wrapped tool as they are.
    pub template: Option<&'a CommandTemplate>,
}
