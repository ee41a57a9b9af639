//! The tool interface: name, schema, permission and execution.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use orchestrate_core::CallId;
use orchestrate_core::policy::{Decision, Permission, Policy, Target};
use serde_json::Value;

use crate::context::ToolContext;
use crate::effect::{AnswersFrom, Effect, Foreseen};
use crate::error::ToolError;
use crate::files::Files;
use crate::output::Answer;
use crate::path;
use crate::scope::CallScope;
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

/// What is constant of a tool. Most of it is as [`ToolProperties::new`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolProperties {
    /// The permission that the caller's role must grant.
    pub permission: Permission,
    /// Whether roles that list no tools have it. Each tool more makes every request longer, so what
    /// few agents need is listed by their roles.
    pub is_default: bool,
    /// Whether a call can change files of the worktree; a role with no such tool is read-only.
    pub changes_files: bool,
    /// Whether a call can delete a file whatever its content, for example one in conflict.
    pub deletes_files: bool,
    /// Whether the newest result, such as the agent's list of steps, is never left out of the
    /// agent's context.
    pub stays_in_view: bool,
    /// The names of arguments that are paths in the worktree; they are rewritten relative to its
    /// root.
    pub path_fields: &'static [&'static str],
    /// Whether its path arguments may name folders; limits on the names of files then hold only for
    /// the files that it opens.
    pub names_folders: bool,
    /// Whether it needs a remote repository: it is then out of order apart from the other tools of
    /// its category.
    pub reaches_remotes: bool,
    /// What the answer of a call follows from, besides its arguments, the rules and the limits. Only
    /// an answer that follows from files can be replayed.
    pub answers_from: AnswersFrom,
    /// Whether a call that is run twice has the effect of one that is run once, though its answer
    /// does not follow from files.
    pub is_repeatable: bool,
    /// The names of tools that take the same arguments, and that may answer if this one cannot.
    pub alternatives: &'static [&'static str],
}

impl ToolProperties {
    /// Returns those of a default tool with a permission, which says whether it can change and
    /// delete files.
    pub const fn new(permission: Permission) -> ToolProperties {
        use Permission::{AgentSpawn, CodeExecution, FileModify, FileWrite};
        ToolProperties {
            permission,
            is_default: true,
            changes_files: matches!(
                permission,
                FileWrite | FileModify | CodeExecution | AgentSpawn
            ),
            deletes_files: matches!(permission, CodeExecution),
            stays_in_view: false,
            path_fields: &[],
            names_folders: false,
            reaches_remotes: false,
            answers_from: AnswersFrom::Anything,
            is_repeatable: false,
            alternatives: &[],
        }
    }

    /// Reports whether a call that is run twice has the effect of one that is run once.
    pub(crate) fn may_be_repeated(&self) -> bool {
        self.is_repeatable || self.answers_from != AnswersFrom::Anything
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

/// The programs that a call would run, as far as the rules about programs judge them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Programs {
    /// Its effects name all of them.
    InEffects,
    /// The first of these that is installed.
    FirstOf(Vec<ProgramChoice>),
    /// They are only known when it runs.
    Unknown,
}

/// A program that a tool may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramChoice {
    /// The commands that the tool runs if it chooses it, each of which the rules about programs
    /// judge.
    pub commands: Vec<Vec<String>>,
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

    /// Rewrites path arguments to the paths that will be opened, and refuses those outside the
    /// worktree.
    ///
    /// # Errors
    /// `Denied` for a path that is outside the worktree or belongs to git, `Retry` for an invalid
    /// path.
    fn normalize(&self, arguments: &mut Value, worktree: &Path) -> Result<(), ToolError> {
        for field in self.properties().path_fields {
            if let Some(value) = arguments.get_mut(field)
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

    /// Returns what a call would affect, for the policy; by default the path arguments that are
    /// present.
    fn effects(&self, arguments: &Value) -> Vec<Effect> {
        let fields = self.properties().path_fields;
        let given = fields
            .iter()
            .filter_map(|field| arguments.get(*field).and_then(Value::as_str));
        let target = if self.properties().names_folders {
            Target::Folder
        } else {
            Target::Path
        };
        given
            .map(|path| Effect::on(target(path.to_owned())))
            .collect()
    }

    /// Returns what of the policy is against a call whatever its rules say of the effects, so that
    /// nobody is asked about a call that cannot succeed; `None` if nothing is known to be. Only
    /// that of a built-in tool is asked for.
    fn refused(&self, _policy: &Policy, _arguments: &Value) -> Option<Decision> {
        None
    }

    /// Returns what a call would reach that only services or the project's files know; `None` if
    /// its arguments say it all. This is decided about, and the tool must do exactly that or
    /// nothing. Only that of a built-in tool is asked for.
    ///
    /// # Errors
    /// As those of running the call; it is not run then, and nobody is asked about it.
    async fn foresee(
        &self,
        _scope: &CallScope,
        _project: &Files,
        _arguments: &Value,
    ) -> Result<Option<Foreseen>, ToolError> {
        Ok(None)
    }

    /// Looks whether a call could succeed, without any effect, before the user is asked about it:
    /// as far as that follows from the settings, the services, and the project's files, which are
    /// seen as the call sees them once it is approved. What the rules deny has been refused before.
    /// Only a built-in tool is asked to.
    ///
    /// # Errors
    /// As those of running the call; nobody is asked about it then.
    async fn rehearse(
        &self,
        _scope: &CallScope,
        _project: &Files,
        _arguments: &Value,
    ) -> Result<(), ToolError> {
        Ok(())
    }

    /// Returns the programs that a call would run in a project. A tool whose choice depends on the
    /// project's files looks at them, without running anything.
    ///
    /// # Errors
    /// As those of looking at the project's files.
    fn programs(&self, _arguments: &Value, _project: &Files) -> Result<Programs, ToolError> {
        Ok(Programs::InEffects)
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

    /// Runs one call. The arguments have been validated, and their paths rewritten.
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
