//! A place where a branch is checked out: a working tree with its git directory.
//!
//! Git runs on its real files and index with a git directory of ours. So git does not find the
//! repository's configuration, under any condition: see [`crate::program::scratch_repo`].

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::PathBuf;

use git2::Index;

use crate::error::GitError;
use crate::program::run::Run;
use crate::program::scratch_repo::ScratchRepo;
use crate::repo::repository::Repo;

/// How many scratch repositories are kept: as many worktrees are filled at once.
const KEPT_SCRATCHES: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    pub(crate) path: PathBuf,
    pub(crate) git_dir: PathBuf,
}

impl Checkout {
    /// Reads the index of the checkout.
    pub(crate) fn index(&self) -> Result<Index, GitError> {
        let path = self.index_path();
        Index::open(&path).map_err(GitError::library(format!("read {}", path.display())))
    }

    /// Returns the path of the index file.
    pub(crate) fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }
}

/// A scratch repository for one run on a checkout's files, in which git writes nothing. It is kept
/// for the next run when it is dropped, since making one takes milliseconds.
#[derive(Debug)]
pub(crate) struct ScratchForFiles<'r> {
    scratch: Option<ScratchRepo>,
    repo: &'r Repo,
}

impl Deref for ScratchForFiles<'_> {
    type Target = ScratchRepo;

    fn deref(&self) -> &ScratchRepo {
        // Only `drop` takes it out.
        match &self.scratch {
            Some(scratch) => scratch,
            None => unreachable!("BUG: a scratch repository is used after it was given back"),
        }
    }
}

impl Drop for ScratchForFiles<'_> {
    fn drop(&mut self) {
        let mut kept = self.repo.shared.scratches_for_files.lock();
        if kept.len() < KEPT_SCRATCHES {
            kept.extend(self.scratch.take());
        }
    }
}

impl Repo {
    /// Returns a scratch repository for one run on a checkout's files: one of an earlier run, or a
    /// new one.
    pub(crate) fn scratch_for_files(&self) -> Result<ScratchForFiles<'_>, GitError> {
        let kept = self.shared.scratches_for_files.lock().pop();
        // One that was removed meanwhile cannot be used again.
        let scratch = match kept.filter(ScratchRepo::is_there) {
            Some(scratch) => scratch,
            None => ScratchRepo::new()?,
        };
        scratch.take_over_info(self.common_dir())?;
        Ok(ScratchForFiles {
            scratch: Some(scratch),
            repo: self,
        })
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
