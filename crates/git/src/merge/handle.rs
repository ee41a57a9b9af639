//! The handle for merging; the other files of this folder hold its methods.

use crate::repo::repository::Repo;

/// What merges commits without a checkout, returned by [`Repo::merging`].
#[derive(Clone, Copy, Debug)]
pub struct Merging<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations that merge two commits, and return a conflict to its author.
    pub fn merging(&self) -> Merging<'_> {
        Merging { repo: self }
    }
}
