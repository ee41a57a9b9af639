//! Where a branch is checked out: a working tree, with what git keeps about it.

use std::path::PathBuf;

use git2::Index;

use crate::error::GitError;

/// A place where a branch is checked out.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    pub(crate) path: PathBuf,
    pub(crate) git_dir: PathBuf,
}

impl Checkout {
    /// Reads its index.
    pub(crate) fn index(&self) -> Result<Index, GitError> {
        let path = self.index_path();
        Index::open(&path).map_err(GitError::library(format!("read {}", path.display())))
    }

    /// Returns the file of its index.
    pub(crate) fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }
}
