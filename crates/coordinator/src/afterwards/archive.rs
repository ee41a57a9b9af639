//! The runs of a repository, for what people do with them afterwards: look, land, clean, recover.
//!
//! Everything here is blocking and works without an agent or a model. What writes facts takes the run's lease first,
//! so it never meets a live coordinator; what only reads takes nothing.

use std::path::Path;

use orchestrate_git::Repo;
use orchestrate_journal::{JournalError, Store};

use crate::api::coordinator::Settings;
use crate::error::CoordinatorError;
use crate::run::layout::{Layout, require_own_state};

/// The runs of a repository.
pub struct Archive {
    pub(crate) repo: Repo,
    pub(crate) layout: Layout,
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    /// Is told what takes a while, and what cannot be read.
    pub(crate) progress: fn(&str),
}

impl Archive {
    /// Opens a repository that has had a run.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be used, if it has had no run, and if its journal cannot be read.
    pub fn open(repository: &Path, settings: Settings) -> Result<Self, CoordinatorError> {
        require_own_state(&settings.state_dir)?;
        let repo = Repo::open(repository, &settings.state_dir)?.telling(settings.waiting);
        let layout = Layout::new(&settings.state_dir, &repo.id());
        let store = Store::open_existing(&layout.journal())?;
        let store = store.ok_or_else(|| JournalError::NoSuchRun("latest".to_owned()))?;
        Ok(Self { repo, layout, store, settings, progress: |_| () })
    }

    /// Says what takes a while, and what cannot be read, to this function.
    #[must_use]
    pub fn telling(self, progress: fn(&str)) -> Self {
        Self { progress, ..self }
    }

    /// Returns the repository's store of runs.
    pub fn store(&self) -> &Store {
        &self.store
    }
}
