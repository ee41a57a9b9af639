//! A call before it is decided about: its arguments as the tool gets them, what it would affect,
//! and what can be looked up about it.
//!
//! A tool makes it of the arguments alone, so that the decision is about what is run. What services
//! and the project's files know is looked up later, and only if the rules do not deny the call.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use orchestrate_core::policy::{Access, Decision, Policy, Target};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::{given_text, read};
use super::context::blocking;
use super::properties::ToolProperties;
use crate::answer::ToolError;
use crate::call::{CallScope, Effect, Foreseen};
use crate::files::{Files, path};
use crate::services::{AgentOperation, GitOperation};

/// Where a call is made, as far as its preparation depends on it.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// The path at which processes find the agent's worktree.
    pub worktree: PathBuf,
    /// The run's rules.
    pub policy: Arc<Policy>,
}

impl CallSite {
    /// Returns where the calls of a scope are made.
    pub(crate) fn in_scope(scope: &CallScope) -> CallSite {
        CallSite {
            worktree: scope.worktree.path.clone(),
            policy: Arc::clone(&scope.policy),
        }
    }
}

/// A call as it is decided about, recorded and run.
pub struct Prepared {
    /// The arguments, with the paths that will be opened. The tool must do exactly what they say.
    pub arguments: Value,
    /// What the call would affect, for the policy.
    pub effects: Vec<Effect>,
    /// Why the tool does not take the call, if the schema cannot express it: usually a `Retry`,
    /// with the field, the expected value and the given one. The call is not run then.
    pub fault: Option<ToolError>,
    /// Finds the programs that the call would run in a project; `None` if its effects name all of
    /// them.
    pub programs: Option<FindPrograms>,
    /// What of the policy is against the call whatever its rules say of the effects, so that nobody
    /// is asked about a call that cannot succeed.
    pub(crate) refused: Option<Decision>,
    /// What the call hands to another tool, if this one is a wrapper.
    pub(crate) handed_on: Option<HandedOn>,
    /// Finds what the call would reach that only services or the project's files know. This is
    /// decided about, and the tool must do exactly that or nothing. An error is that of running the
    /// call: it is not run then, and nobody is asked about it.
    pub(crate) foresight: Option<Look<Option<Foreseen>>>,
    /// Looks whether the call could succeed, without any effect, before the user is asked about it:
    /// as far as that follows from the settings, the services, and the project's files, which are
    /// seen as the call sees them once it is approved. What the rules deny has been refused before.
    pub(crate) rehearsal: Option<Look<()>>,
}

/// Finds the programs that a call with these arguments would run, without running anything. Fails
/// as looking at the project's files does.
pub type FindPrograms = fn(&Value, &Files) -> Result<Programs, ToolError>;

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

/// What a wrapper's call hands to the wrapped tool.
pub(crate) struct HandedOn {
    /// The arguments of the wrapped tool.
    pub(crate) arguments: Value,
    /// An object that is shown beside the wrapper's arguments to whoever is asked about the call.
    pub(crate) details: Option<Value>,
}

impl Prepared {
    /// Creates a call that affects nothing.
    pub fn new(arguments: Value) -> Prepared {
        Prepared {
            arguments,
            effects: Vec::new(),
            fault: None,
            programs: None,
            refused: None,
            handed_on: None,
            foresight: None,
            rehearsal: None,
        }
    }

    /// Creates a call that affects the files or folders that its path arguments name, and rewrites
    /// these to the paths that will be opened.
    ///
    /// # Errors
    /// `Denied` for a path that is outside the worktree or belongs to git, `Retry` for an invalid
    /// path.
    pub fn on_paths(
        properties: ToolProperties,
        site: &CallSite,
        mut arguments: Value,
    ) -> Result<Prepared, ToolError> {
        let target = if properties.names_folders {
            Target::Folder
        } else {
            Target::Path
        };
        let mut effects = Vec::new();
        for field in properties.path_fields {
            if let Some(value) = arguments.get_mut(*field)
                && let Some(text) = value.as_str()
            {
                let path = path::normalize(text, &site.worktree)?;
                effects.push(Effect::on(target(path.clone())));
                *value = Value::String(path);
            }
        }
        Ok(Prepared {
            effects,
            ..Prepared::new(arguments)
        })
    }

    /// Creates a call with a list of paths, and rewrites these to the paths that will be opened.
    ///
    /// # Errors
    /// As [`Prepared::on_paths`].
    pub(crate) fn on_listed_paths(
        field: &str,
        effect: fn(String) -> Effect,
        site: &CallSite,
        mut arguments: Value,
    ) -> Result<Prepared, ToolError> {
        let paths = arguments.get_mut(field).and_then(Value::as_array_mut);
        let mut effects = Vec::new();
        for value in paths.into_iter().flatten() {
            if let Some(text) = value.as_str() {
                let path = path::normalize(text, &site.worktree)?;
                effects.push(effect(path.clone()));
                *value = Value::String(path);
            }
        }
        Ok(Prepared {
            effects,
            ..Prepared::new(arguments)
        })
    }

    /// Creates a call that affects what this argument names.
    pub(crate) fn on_name(field: &str, arguments: Value) -> Prepared {
        let name = given_text(&arguments, field).to_owned();
        Prepared {
            effects: vec![Effect::on(Target::Name(name))],
            ..Prepared::new(arguments)
        }
    }

    /// Lets the paths of these arguments be used in these ways, in place of the tool's own.
    pub(crate) fn with_accesses(self, accesses: &[(&str, Access)]) -> Prepared {
        let mut effects = Vec::new();
        for (field, access) in accesses {
            if let Some(path) = self.arguments.get(*field).and_then(Value::as_str) {
                effects.push(Effect {
                    access: *access,
                    target: Target::Path(path.to_owned()),
                });
            }
        }
        Prepared { effects, ..self }
    }

    /// Returns the arguments of the tool that answers: the wrapped one, if this one is a wrapper.
    pub(crate) fn last_arguments(&self) -> &Value {
        match &self.handed_on {
            Some(handed_on) => &handed_on.arguments,
            None => &self.arguments,
        }
    }

    /// Lets this be looked at before the user is asked about the call.
    pub fn rehearsed(self, rehearsal: Look<()>) -> Prepared {
        Prepared {
            rehearsal: Some(rehearsal),
            ..self
        }
    }
}

/// Something that is looked up about a call, if it comes to that.
pub struct Look<T>(Box<Start<T>>);

/// Starts a [`Look`] at a call with these arguments, whose project has these files.
type Start<T> = dyn FnOnce(CallScope, Files, Value) -> Looking<T> + Send + Sync;

/// The future of a [`Look`].
type Looking<T> = Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send>>;

impl<T: Send + 'static> Look<T> {
    /// Looks with whatever a call can reach.
    pub fn new<A, F>(look: impl FnOnce(CallScope, Files, A) -> F + Send + Sync + 'static) -> Look<T>
    where
        A: DeserializeOwned + Send + 'static,
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        Look(Box::new(move |scope, files, arguments| {
            Box::pin(async move { look(scope, files, read(arguments)?).await })
        }))
    }

    /// Looks at the project's files, on a thread for blocking work.
    pub(crate) fn at_files<A>(look: fn(&Files, &CallScope, A) -> Result<T, ToolError>) -> Look<T>
    where
        A: DeserializeOwned + Send + 'static,
    {
        Look::new(async move |scope: CallScope, files: Files, arguments: A| {
            let cancel = scope.cancel.clone();
            blocking(&files, &cancel, move |files, _| {
                look(files, &scope, arguments)
            })
            .await
        })
    }

    /// Looks at a call with these arguments.
    pub(crate) async fn run(
        self,
        scope: &CallScope,
        files: Files,
        arguments: &Value,
    ) -> Result<T, ToolError> {
        (self.0)(scope.clone(), files, arguments.clone()).await
    }
}

impl Look<()> {
    /// Lets git look whether it could do what the arguments ask for.
    pub(crate) fn at_git<A: DeserializeOwned + Send + 'static>(
        operation: fn(A) -> GitOperation,
    ) -> Look<()> {
        Look::new(move |scope: CallScope, _, arguments: A| async move {
            let operation = operation(arguments);
            scope.services.git.rehearse(&operation).await?;
            Ok(())
        })
    }

    /// Lets the run look whether it could do to its agents what the arguments ask for.
    pub(crate) fn at_agents<A: DeserializeOwned + Send + 'static>(
        operation: fn(A) -> AgentOperation,
    ) -> Look<()> {
        Look::new(move |scope: CallScope, _, arguments: A| async move {
            let operation = operation(arguments);
            scope.services.agents.rehearse(&operation).await?;
            Ok(())
        })
    }
}
