//! The context of one execution of a tool, created with its permit and never stored in the tool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use orchestrate_core::AgentId;
use orchestrate_sandbox::{Cancel, Sandbox, View};

use crate::error::ToolError;
use crate::files::Files;
use crate::guard::PathGuard;
use crate::ledger::ReadLedger;
use crate::notes::Notes;
use crate::permit::Permit;
use crate::scope::{CallLimits, CallScope};
use crate::services::Services;
use crate::shape;
use crate::shared::SharedValues;

/// One permitted execution: the calling agent, its worktree and its limits.
pub struct ToolContext {
    permit: Permit,
    scope: CallScope,
    files: Files,
    guard: PathGuard,
}

impl ToolContext {
    pub(crate) fn new(permit: Permit, guard: PathGuard, scope: CallScope) -> ToolContext {
        let files = Files::new(&scope.worktree, guard.clone(), scope.limits.file_bytes);
        ToolContext { permit, scope, files, guard }
    }

    pub(crate) fn scope(&self) -> &CallScope {
        &self.scope
    }

    /// Gives commands this many times their time.
    pub(crate) fn lengthen(&mut self, factor: u32) {
        self.scope.limits.time_factor = self.scope.limits.time_factor.saturating_mul(factor);
    }

    /// Returns the permit that lets this execution run.
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Returns the calling agent.
    pub fn agent(&self) -> &AgentId {
        &self.scope.agent
    }

    /// Returns the limits of one call.
    pub fn limits(&self) -> &CallLimits {
        &self.scope.limits
    }

    /// Returns the cancellation that ends the call.
    pub fn cancel(&self) -> &Cancel {
        &self.scope.cancel
    }

    /// Returns the services outside the worktree.
    pub fn services(&self) -> &Services {
        &self.scope.services
    }

    /// Returns the ledger of the file versions that the agent has seen.
    pub fn ledger(&self) -> &ReadLedger {
        &self.scope.ledger
    }

    /// Returns the agent's notes.
    pub(crate) fn notes(&self) -> &Notes {
        &self.scope.notes
    }

    /// Returns the values that the tools of the run share.
    pub fn shared(&self) -> &SharedValues {
        &self.scope.shared
    }

    /// Returns the sandbox that runs commands.
    pub fn sandbox(&self) -> &Sandbox {
        &self.scope.sandbox
    }

    /// Returns the view of the file system that commands have.
    pub fn view(&self) -> &View {
        &self.scope.worktree.view
    }

    /// Returns the path of the worktree, for processes and messages only; files are never opened by it.
    pub fn worktree(&self) -> &Path {
        &self.scope.worktree.path
    }

    /// Asks the policy about a program that the call did not name, with its arguments.
    ///
    /// # Errors
    /// `Denied` if a rule denies it, or asks about it and was not approved with the call.
    pub fn check_program(&self, argv: &[String]) -> Result<(), ToolError> {
        self.guard.check_program(argv)
    }

    /// Returns the maximum size of the result in bytes; longer results lose their middle.
    pub fn result_bytes(&self) -> usize {
        shape::allowed_bytes(self.scope.result_tokens)
    }

    /// Runs file or CPU work on a thread for blocking work. A panic becomes an `Execution` failure.
    ///
    /// # Errors
    /// Returns the error of the work; also `Execution` if it panics, `Interrupted` if the runtime is shutting down.
    pub async fn blocking<T, W>(&self, work: W) -> Result<T, ToolError>
    where
        T: Send + 'static,
        W: FnOnce(&Files, &Cancel) -> Result<T, ToolError> + Send + 'static,
    {
        let (files, cancel) = (self.files.clone(), self.scope.cancel.clone());
        let work = move || catch_unwind(AssertUnwindSafe(|| work(&files, &cancel)));
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(panicked(panic.as_ref())),
            Err(_) => Err(ToolError::Interrupted("the program is ending".to_owned())),
        }
    }
}

/// Creates the error for a tool that panicked.
pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message");
    ToolError::Execution(format!("the tool panicked: {text}"))
}
