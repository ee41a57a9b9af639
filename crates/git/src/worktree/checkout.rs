//! A place where a branch is checked out: a working tree with its git directory.

use std::path::PathBuf;

use git2::Index;

use crate::error::GitError;

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
