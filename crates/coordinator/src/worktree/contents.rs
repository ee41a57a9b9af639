//! What git knows of the contents of a worktree's files without reading them.

use orchestrate_core::Oid;
use orchestrate_git::{RecordedContents, Stamp, blob_id};
use orchestrate_tools::FileStamp;

use crate::error::CoordinatorError;
use crate::worktree::workspace::Workspace;

/// The contents that the worktree's index knows, as of when it was last written.
pub(crate) struct GitContents(RecordedContents);

impl Workspace {
    /// Reads what the worktree's index knows. It blocks.
    pub(crate) fn contents(&self) -> Result<GitContents, CoordinatorError> {
        Ok(GitContents(
            self.host.site.repo.store().recorded(&self.worktree)?,
        ))
    }
}

impl GitContents {
    /// Returns the id of a file's bytes, or `None` if only reading the file shows it.
    pub(crate) fn known(&self, path: &str, stamp: &FileStamp) -> Option<Oid> {
        let FileStamp {
            inode,
            size,
            modified,
            changed,
            ..
        } = *stamp;
        self.0.id(
            path,
            &Stamp {
                inode,
                size,
                modified,
                changed,
            },
        )
    }

    /// Returns the id that these bytes have.
    pub(crate) fn id_of(bytes: &[u8]) -> Option<Oid> {
        blob_id(bytes)
    }
}
