//! The handle for remotes; the other files of this folder hold its methods.

use crate::repo::repository::Repo;

/// What reaches remote repositories, returned by [`Repo::remotes`].
#[derive(Clone, Copy, Debug)]
pub struct Remotes<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations that find remotes, push to them and fetch from them.
    pub fn remotes(&self) -> Remotes<'_> {
        Remotes { repo: self }
    }
}
