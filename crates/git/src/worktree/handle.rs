//! The handle for a repository's worktrees; the other files of this folder hold its methods.

use crate::repo::repository::Repo;

/// The worktrees of a repository, returned by [`Repo::worktrees`].
#[derive(Clone, Copy, Debug)]
pub struct Worktrees<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations on worktrees: creating, examining, resetting and removing them.
    pub fn worktrees(&self) -> Worktrees<'_> {
        Worktrees { repo: self }
    }
}
