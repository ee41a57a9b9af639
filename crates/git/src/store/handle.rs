//! The handle for what a repository stores; the other files of this folder hold its methods.

use crate::repo::repository::Repo;

/// The objects of a repository, returned by [`Repo::store`].
#[derive(Clone, Copy, Debug)]
pub struct Store<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations on objects: storing a worktree's files, and reading and comparing
    /// what is stored.
    pub fn store(&self) -> Store<'_> {
        Store { repo: self }
    }
}
