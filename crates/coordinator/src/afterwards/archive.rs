//! The runs of a repository, for reviewing, landing, cleaning and recovering them.
//!
//! Everything here works without an agent or a model. Operations that record events take the run's
//! lease first, so they never run beside a live coordinator; reading takes no lease. Those that
//! change something are async, and their work is done on a blocking thread: it is carried out to
//! its end even if the future is dropped. Reading blocks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_checks::{Layout, RunningCheck, RunningChecks, noted_by, require_own_state};
use orchestrate_core::RunId;
use orchestrate_git::Repo;
use orchestrate_journal::{JournalError, Store};

use crate::afterwards::moved;
use crate::blocking::blocking;
use crate::error::CoordinatorError;
use crate::run::settings::Settings;

/// The runs of a repository.
#[derive(Clone)]
pub struct Archive {
    pub(crate) repo: Repo,
    pub(crate) layout: Layout,
    pub(crate) store: Store,
    pub(crate) settings: Arc<Settings>,
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
    pub fn open(repository: &Path, settings: Settings) -> Result<Self, CoordinatorError> {
        let settings = Arc::new(settings.anchored()?);
        require_own_state(&settings.state_dir)?;
        let repo = Repo::open(repository, &settings.state_dir)?.telling(settings.waiting);
        moved::follow(&repo, &settings.state_dir, settings.warn)?;
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
    pub(super) async fn beside<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Archive) -> Result<T, CoordinatorError> + Send + 'static,
    ) -> Result<T, CoordinatorError> {
        let runs = self.clone();
        blocking(what, move || work(&runs)).await
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
