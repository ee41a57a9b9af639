//! Where a command of the user's own runs: its repository, if there is one, and our folder for its
//! calls.

use std::path::{Path, PathBuf};

use orchestrate_checks::require_own_state;
use orchestrate_core::policy::cache::NO_COMMIT;
use orchestrate_git::{Content, GitError, Glance};

use crate::error::CoordinatorError;

/// Our folder for calls, below the state folder.
const CALLS: &str = "tool-calls";
/// Our folder for calls outside of repositories, below it.
const ELSEWHERE: &str = "elsewhere";

/// Where a command of the user's own runs.
pub struct Surroundings {
    calls: PathBuf,
    repository: Option<Glance>,
    unreadable: Option<GitError>,
}

impl Surroundings {
    /// Looks at what is around a folder. A repository that cannot be read counts as none.
    ///
    /// # Errors
    ///
    /// [`orchestrate_checks::ChecksError::StateFolder`].
    pub fn at(folder: &Path, state_dir: &Path) -> Result<Surroundings, CoordinatorError> {
        require_own_state(state_dir)?;
        let (repository, unreadable) = match Glance::at(folder) {
            Ok(repository) => (repository, None),
            Err(error) => (None, Some(error)),
        };
        let name = repository.as_ref().map_or(ELSEWHERE, Glance::id);
        Ok(Surroundings {
            calls: state_dir.join(CALLS).join(name),
            repository,
            unreadable,
        })
    }

    /// Returns why the repository cannot be read.
    pub fn unreadable(&self) -> Option<&GitError> {
        self.unreadable.as_ref()
    }

    /// Returns our folder for the calls of this repository.
    pub fn calls(&self) -> &Path {
        &self.calls
    }

    /// Returns the top folder of the repository's files.
    pub fn root(&self) -> Option<&Path> {
        self.repository.as_ref().map(Glance::workdir)
    }

    /// Returns the short id of the commit that is checked out; `unknown` if there is none.
    pub fn commit(&self) -> String {
        let commit = self.repository.as_ref().and_then(Glance::short_commit);
        commit.unwrap_or_else(|| NO_COMMIT.to_owned())
    }

    /// Returns what is the same as long as no file is changed that git does not ignore; `None`
    /// outside a repository, where nothing is known of files. The files to which this process
    /// writes are given by their devices and numbers.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn content(&self, written: &[(u64, u64)]) -> Result<Option<Content>, CoordinatorError> {
        Ok(self
            .repository
            .as_ref()
            .map(|repository| repository.content(written))
            .transpose()?)
    }
}
