//! The resources of the machine where workers run: the repository, a sandbox, the tools, the
//! models, the token counter.
//!
//! Nothing here belongs to a run's journal, so a worker elsewhere has its own. Git is blocking, so
//! every operation runs inside `spawn_blocking`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::{Redactor, RunId, TaskId};
use orchestrate_git::{GitError, Identities, NoGc, Repo};
use orchestrate_model::LazyCounter;
use orchestrate_sandbox::Sandbox;
use orchestrate_tools::{Executor, SharedValues};
use tokio::sync::Mutex;

use crate::blocking::blocking;
use crate::checks::base_outputs::Known;
use crate::checks::base_setup::OnBase;
use crate::checks::running_checks::RunningChecks;
use crate::disk::layout::Layout;
use crate::error::CoordinatorError;
use crate::run::results::Results;
use crate::run::web::Web;
use crate::texts::models::Models;
use crate::texts::repository_map::Maps;

/// The resources of the machine where workers run.
pub(crate) struct Host {
    /// The repository that worktrees are created in.
    pub(crate) repo: Repo,
    pub(crate) no_gc: Arc<NoGc>,
    /// The file of the run's plan, if the repository has it: no agent changes its boxes.
    pub(crate) plan: Option<PathBuf>,
    /// Where the worktrees are.
    pub(crate) layout: Layout,
    pub(crate) identities: Identities,
    /// How the project's setup ended on the base; held while it runs, which one worker at a time
    /// may do.
    pub(crate) set_up: Mutex<Option<OnBase>>,
    /// The outputs of the base, once they were looked for.
    pub(crate) warm: Mutex<Option<Known>>,
    pub(crate) sandbox: Arc<Sandbox>,
    /// What runs in it now that is not an agent's.
    pub(crate) running: RunningChecks,
    pub(crate) executor: Executor,
    /// The stored results of tools.
    pub(crate) results: Arc<Results>,
    /// The values that the run's tools share.
    pub(crate) shared: SharedValues,
    pub(crate) maps: Maps,
    pub(crate) models: Models,
    /// The way to other hosts.
    pub(crate) web: Arc<Web>,
    pub(crate) counter: LazyCounter,
    /// Redacts the run's secrets from everything that is sent and recorded here.
    pub(crate) redactor: Redactor,
}

impl Host {
    /// Returns the path at which an agent and its commands find its worktree.
    pub(crate) fn path_seen(&self, run: &RunId, task: &TaskId) -> PathBuf {
        self.repo
            .worktrees()
            .path_seen(self.layout.worktree(run, task))
    }

    /// Returns the sandbox of commands in a worktree, whose tools keep their caches for that
    /// worktree.
    pub(crate) fn sandbox_in(&self, worktree: &Path) -> Arc<Sandbox> {
        Arc::new(
            self.sandbox
                .as_ref()
                .clone()
                .with_caches(Layout::caches_of(worktree)),
        )
    }

    /// Runs one git operation on a blocking thread.
    pub(crate) async fn git<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Repo) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, CoordinatorError> {
        let (repo, no_gc) = (self.repo.clone(), Arc::clone(&self.no_gc));
        let operation = move || {
            no_gc.hold();
            operation(&repo).map_err(|error| match error.is_read_only() && repo.is_read_only() {
                true => CoordinatorError::ReadOnlyRepository {
                    source: Box::new(error),
                },
                false => error.into(),
            })
        };
        blocking("a git operation", operation).await
    }
}
