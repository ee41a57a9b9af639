//! The handle for landing; the other files of this folder hold its methods.

use crate::repo::repository::Repo;

/// What moves the user's branches and checkouts, returned by [`Repo::landing`].
#[derive(Clone, Copy, Debug)]
pub struct Landing<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations that move a branch of the user's and its checkout, and undo that.
    pub fn landing(&self) -> Landing<'_> {
        Landing { repo: self }
    }
}
