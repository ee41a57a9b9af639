//! The resources of the machine where workers run: the repository, a sandbox, the tools, the
//! models, the token counter.
//!
//! Nothing here belongs to a run's journal, so a worker elsewhere has its own.

use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_checks::Site;
use orchestrate_core::{RunId, TaskId};
use orchestrate_git::{GitError, Identities, Repo};
use orchestrate_model::LazyCounter;
use orchestrate_plan::KnownNames;
use orchestrate_tools::{Executor, Hooks, SharedValues};

use crate::error::CoordinatorError;
use crate::run::machine::results::Results;
use crate::run::machine::web::Web;
use crate::texts::models::Models;
use crate::texts::repository_map::Maps;

/// The resources of the machine where workers run.
pub(crate) struct Host {
    /// Where setups and checks take place.
    pub(crate) site: Site,
    /// The file of the run's plan, if the repository has it: no agent changes its boxes.
    pub(crate) plan: Option<PathBuf>,
    /// The names with which that file is read.
    pub(crate) plan_names: KnownNames,
    pub(crate) identities: Identities,
    /// Whether the commits that agents make with git stay commits.
    pub(crate) keeps_commits: bool,
    pub(crate) executor: Executor,
    /// Are asked about calls, which the executor does, and about ends of agents.
    pub(crate) hooks: Hooks,
    /// The stored results of tools.
    pub(crate) results: Arc<Results>,
    /// The values that the run's tools share.
    pub(crate) shared: SharedValues,
    pub(crate) maps: Maps,
    pub(crate) models: Models,
    /// The way to other hosts.
    pub(crate) web: Arc<Web>,
    pub(crate) counter: LazyCounter,
}

impl Host {
    /// Returns the path at which an agent and its commands find its worktree.
    pub(crate) fn path_seen(&self, run: &RunId, task: &TaskId) -> PathBuf {
        self.site
            .repo
            .worktrees()
            .path_seen(self.site.layout.worktree(run, task))
    }

    /// Runs one git operation on a blocking thread.
    pub(crate) async fn git<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Repo) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, CoordinatorError> {
        Ok(self.site.git(operation).await?)
    }
}
