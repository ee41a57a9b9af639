//! An agent's environment: its assignment, its link, its worktree, its permissions there, and its
//! level of shutdown.

use std::sync::Arc;

use orchestrate_checks::{
    Check, CheckResult, ShellCommand, Shutdown, Unprepared, prepare, run_check,
};
use orchestrate_core::TaskId;
use orchestrate_core::policy::Policy;
use orchestrate_core::task::FailureCause;
use orchestrate_sandbox::{Sandbox, Seen};
use orchestrate_tools::WorktreeScope;

use crate::error::CoordinatorError;
use crate::link::requests::Failure;
use crate::link::worker_link::WorkerLink;
use crate::run::assignment::Assignment;
use crate::run::machine::host::Host;
use crate::worker::failing;
use crate::worktree::workspace::Workspace;

/// An agent's environment.
#[derive(Clone)]
pub(crate) struct Workplace {
    pub(crate) assignment: Arc<Assignment>,
    pub(crate) link: WorkerLink,
    pub(crate) files: Workspace,
    pub(crate) host: Arc<Host>,
    pub(crate) scope: Arc<WorktreeScope>,
    pub(crate) policy: Arc<Policy>,
    /// The sandbox of its commands, which keeps rooms as long as the worker works.
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) shutdown: Shutdown,
}

impl Workplace {
    /// Opens the worktree of an assignment, creating a missing one.
    pub(crate) async fn open(
        assignment: Assignment,
        link: WorkerLink,
        host: Arc<Host>,
        shutdown: Shutdown,
    ) -> Result<Self, CoordinatorError> {
        let files = Workspace::open(&host, &link).await?;
        let policy =
            Policy::new(&assignment.rules, &assignment.tools).map_err(CoordinatorError::Rules)?;
        let record = link.task().await?;
        let withheld = &record.aside().withheld;
        let scope = Arc::new(files.scope(withheld)?);
        let policy = Arc::new(
            policy
                .limited(&assignment.tool_settings, &scope.path)
                .withholding(withheld),
        );
        let sandbox = Arc::new(host.site.sandbox_in(files.path()).keeping_rooms());
        Ok(Self {
            sandbox,
            assignment: Arc::new(assignment),
            link,
            files,
            host,
            scope,
            policy,
            shutdown,
        })
    }

    /// Returns the task's id.
    pub(crate) fn task(&self) -> &TaskId {
        &self.assignment.agent
    }

    /// Prepares the worktree with the project's setup and the base's outputs; returns the command's
    /// result if it ran, or failed elsewhere.
    pub(crate) async fn set_up(&self) -> Result<Option<CheckResult>, CoordinatorError> {
        let (_, tree) = self.files.tip().await?;
        let seen = self.seen();
        let unprepared = Unprepared {
            path: self.files.path(),
            seen: &seen,
            tree,
        };
        Ok(prepare(
            &self.host.site,
            &self.assignment.preparation,
            unprepared,
            &self.shutdown,
        )
        .await?)
    }

    /// Returns the worktree as its processes see it now.
    fn seen(&self) -> Seen {
        Seen {
            path: self.scope.path.clone(),
            view: self.scope.view.now(),
        }
    }

    /// Fails the task, unless its work has been handed over meanwhile.
    pub(crate) async fn fail(
        &self,
        cause: FailureCause,
        message: String,
    ) -> Result<(), CoordinatorError> {
        failing::fail(
            &self.host,
            &self.link,
            Failure {
                cause,
                message,
                report: None,
            },
        )
        .await
    }

    /// Runs a shell command without network in the worktree, in the sandbox; interrupted when the
    /// level reaches `Stop`.
    pub(crate) async fn run(&self, command: &str) -> Result<CheckResult, CoordinatorError> {
        let check = Check {
            command: ShellCommand::offline(command),
            worktree: &self.seen(),
            timeout_ms: self.assignment.limits.command_timeout_ms,
        };
        let result = run_check(
            &self.sandbox,
            &self.host.site.running,
            check,
            &self.shutdown,
        )
        .await?;
        Ok(result
            .explaining_missing(self.host.site.repo.workdir())
            .redacted(&self.host.site.redactor))
    }
}
