//! Tells whether git can write to the repository at all.
//!
//! An error alone does not say so: a file of an agent's may be closed to us, too, and that concerns
//! its task alone.

use rustix::fs::{Access, access};

use crate::repo::repository::Repo;

/// What git writes to, below the common directory.
const WRITTEN: [&str; 2] = ["objects", "refs"];

impl Repo {
    /// Reports whether the repository's git directory cannot be written now: its file system or its
    /// folders are read-only.
    pub fn is_read_only(&self) -> bool {
        let folder = self.common_dir();
        let places =
            std::iter::once(folder.to_owned()).chain(WRITTEN.iter().map(|name| folder.join(name)));
        places
            .into_iter()
            .any(|place| place.exists() && access(&place, Access::WRITE_OK).is_err())
    }
}
