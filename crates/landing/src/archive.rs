//! The runs of a repository, for reviewing, landing, cleaning and recovering them.
//!
//! Everything here works without an agent or a model. Operations that record events take the run's
//! lease first, so they never run beside a live coordinator; reading takes no lease. Those that
//! change something are async, and their work is done on a blocking thread: it is carried out to
//! its end even if the future is dropped. Reading blocks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_checks::{
    Layout, RunningCheck, RunningChecks, SandboxSettings, anchor, blocking, noted_by,
    require_own_state,
};
use orchestrate_core::{CommitRules, Oid, RunId, RunState, TaskId, TaskRecord};
use orchestrate_git::{GitError, Identities, Repo, Waiting};
use orchestrate_journal::{JournalError, Store};

use crate::error::LandingError;
use crate::moved;

/// What a ref holds that outlives a landing, in its name.
pub(crate) const LANDED: &str = "landed";

/// What is told of what is recorded of runs that no process works on, such as a landing.
pub trait Observer: std::fmt::Debug + Send + Sync {
    /// Observes it, on a thread that may block; the run is free for other processes already.
    fn observe(&self, seen: &Observed<'_>);
}

/// What was recorded of a run by one operation.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The number of its newest event before.
    pub after: u64,
    /// Its journal.
    pub store: &'a Store,
    /// Where its files are.
    pub layout: &'a Layout,
    /// The user's checkout.
    pub checkout: &'a Path,
    /// How commands are confined.
    pub sandbox: &'a SandboxSettings,
}

/// The settings with which the runs of a repository are opened.
#[derive(Clone, Debug)]
pub struct LandingSettings {
    /// The folder of journals and worktrees.
    pub state_dir: PathBuf,
    /// Git's variables for the author of commits.
    pub environment: BTreeMap<String, String>,
    /// The file of the audit logs of all runs; `None` means one for each run, in the state folder.
    pub audit_log: Option<PathBuf>,
    /// How checks are confined.
    pub sandbox: SandboxSettings,
    /// Called when another process has held the repository's lock for a while.
    pub waiting: fn(&Waiting),
    /// What is told of what is recorded.
    pub observer: Option<Arc<dyn Observer>>,
}

impl LandingSettings {
    /// Makes its paths absolute, since git is started in other folders.
    pub(crate) fn anchored(mut self) -> Result<Self, LandingError> {
        let given = [self.audit_log.as_mut(), self.sandbox.helper.as_mut()];
        anchor(given.into_iter().flatten().chain([&mut self.state_dir]))?;
        Ok(self)
    }
}

/// The runs of a repository.
#[derive(Clone)]
pub struct Archive {
    pub(crate) repo: Repo,
    pub(crate) layout: Layout,
    pub(crate) store: Store,
    pub(crate) settings: Arc<LandingSettings>,
    /// Called with progress of slow operations, and with commits that cannot be read.
    pub(crate) progress: fn(&str),
    /// The commands that these operations run now.
    pub(crate) running: RunningChecks,
}

impl Archive {
    /// Opens a repository that has had a run.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be used, has had no run, or has an unreadable journal.
    pub fn open(
        repository: &Path,
        settings: impl Into<LandingSettings>,
    ) -> Result<Self, LandingError> {
        let settings = Arc::new(settings.into().anchored()?);
        require_own_state(&settings.state_dir)?;
        let repo = Repo::open(repository, &settings.state_dir)?.telling(settings.waiting);
        moved::follow(&repo, &settings.state_dir, settings.sandbox.warn)?;
        let layout = Layout::new(&settings.state_dir, &repo.id());
        let store = Store::open_existing(&layout.journal())?;
        let store = store.ok_or_else(|| JournalError::NoSuchRun("latest".to_owned()))?;
        Ok(Self {
            repo,
            layout,
            store,
            settings,
            progress: |_| (),
            running: RunningChecks::default(),
        })
    }

    /// Sets the function that receives progress messages.
    #[must_use]
    pub fn telling(self, progress: fn(&str)) -> Self {
        Self { progress, ..self }
    }

    /// Does work on these runs on a blocking thread, to its end.
    pub(crate) async fn beside<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Archive) -> Result<T, LandingError> + Send + 'static,
    ) -> Result<T, LandingError> {
        let runs = self.clone();
        blocking(what, move || work(&runs)).await
    }

    /// Does work on a run, and tells the observer what it has recorded, also if it fails.
    pub(crate) fn observed<T>(
        &self,
        run: &RunId,
        work: impl FnOnce() -> Result<T, LandingError>,
    ) -> Result<T, LandingError> {
        let Some(observer) = &self.settings.observer else {
            return work();
        };
        let after = self.store.count_events(run)?;
        let done = work();
        observer.observe(&Observed {
            run,
            after,
            store: &self.store,
            layout: &self.layout,
            checkout: self.repo.workdir(),
            sandbox: &self.settings.sandbox,
        });
        done
    }

    /// Returns the author and the committer of new commits.
    pub(crate) fn identities(&self) -> Result<Identities, LandingError> {
        let found = self.repo.identities(&self.settings.environment);
        found.ok_or(LandingError::NoIdentity)
    }

    /// Returns the repository with the rules of a run about what enters commits.
    pub(crate) fn committing(&self, state: &RunState) -> Repo {
        self.repo
            .clone()
            .committing_by(CommitRules::new(&state.settings.commit))
    }

    /// Refuses a run that a process works on.
    pub(crate) fn require_unheld(&self, run: &RunId) -> Result<(), JournalError> {
        match self.store.lease(run)? {
            Some(holder) => Err(JournalError::Held {
                run: run.clone(),
                holder,
            }),
            None => Ok(()),
        }
    }

    /// Holds a commit beside a run's result by a ref of ours, whose name says what it is.
    pub(crate) fn keep_beside_result(
        &self,
        run: &RunId,
        what: &str,
        commit: &Oid,
    ) -> Result<(), GitError> {
        self.repo
            .keep(&ref_beside_result(run, what, commit), commit)
    }

    /// Reports whether a branch is checked out, other than in one of these worktrees.
    pub(crate) fn is_checked_out_beside<'p>(
        &self,
        name: &str,
        mut worktrees: impl Iterator<Item = &'p PathBuf>,
    ) -> Result<bool, GitError> {
        let Some(branch) = name.strip_prefix("refs/heads/") else {
            return Ok(false);
        };
        let Some(place) = self.repo.landing().checkout_of(branch)? else {
            return Ok(false);
        };
        let place = real_path(&place);
        Ok(worktrees.all(|worktree| real_path(worktree) != place))
    }

    /// Returns what lists the commands that these operations run at a moment.
    pub fn running_checks(&self) -> RunningChecks {
        self.running.clone()
    }

    /// Returns what the process of this id, which works on a run, runs now besides its agents'
    /// commands.
    pub fn running_in(&self, pid: u32, run: &RunId) -> Vec<RunningCheck> {
        noted_by(pid, &self.layout.running(run))
    }

    /// Returns the file of a run's audit log.
    pub fn audit_log(&self, run: &RunId) -> PathBuf {
        self.settings
            .audit_log
            .clone()
            .unwrap_or_else(|| self.layout.audit_log(run))
    }

    /// Reports whether the audit logs of all runs go to one file.
    pub fn shares_audit_log(&self) -> bool {
        self.settings.audit_log.is_some()
    }

    /// Returns the repository's store of runs.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

/// Returns the name of the ref that holds a commit beside a run's result.
pub(crate) fn ref_beside_result(run: &RunId, what: &str, commit: &Oid) -> String {
    format!(
        "{}{}/{what}-{commit}",
        run.keep_prefix(),
        TaskId::INTEGRATION
    )
}

/// Returns the record of a task.
pub(crate) fn known<'s>(
    state: &'s RunState,
    task: &TaskId,
) -> Result<&'s TaskRecord, LandingError> {
    let unknown = || LandingError::UnknownTask {
        run: state.run_id.clone(),
        task: task.clone(),
    };
    state.task(task).ok_or_else(unknown)
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
