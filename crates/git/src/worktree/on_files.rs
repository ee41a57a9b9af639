//! Runs git on a checkout with its real files and index, and with a git directory of ours.
//!
//! So git does not find the repository's configuration, under any condition: see
//! [`crate::program::scratch_repo`].

use std::ffi::OsStr;

use crate::error::GitError;
use crate::program::run::Run;
use crate::program::scratch_repo::ScratchRepo;
use crate::repo::repository::Repo;
use crate::worktree::checkout::Checkout;

impl Repo {
    /// Creates a scratch repository for one run on a checkout's files.
    pub(crate) fn scratch_for_files(&self) -> Result<ScratchRepo, GitError> {
        let scratch = ScratchRepo::new()?;
        scratch.take_over_info(self.common_dir())?;
        Ok(scratch)
    }

    /// Prepares a run on the files and the index of a checkout.
    pub(crate) fn on_files<'a>(
        &self,
        scratch: &'a ScratchRepo,
        place: &'a Checkout,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Run<'a> {
        let run = Run::new(scratch.git_dir(), &place.path, args)
            .env("GIT_INDEX_FILE", place.index_path())
            .env("GIT_OBJECT_DIRECTORY", self.common_dir().join("objects"));
        let shallow = self.common_dir().join("shallow");
        if shallow.exists() {
            run.env("GIT_SHALLOW_FILE", shallow)
        } else {
            run
        }
    }
}
