//! Rewrites one file of a worktree, for a change that is no work of its agent's.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use crate::error::GitError;
use crate::files::openat;
use crate::repo::worktree::Worktree;
use crate::worktree::worktrees::Worktrees;

impl Worktrees<'_> {
    /// Replaces the content of a regular file of a worktree by what `edit` makes of it; one that is
    /// not there, is larger than `limit` bytes or of which `edit` returns `None` stays as it is.
    /// Returns whether it was replaced.
    ///
    /// Call it while no process of the worktree's agent is alive.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn rewrite(
        &self,
        worktree: &Worktree,
        path: &Path,
        limit: u64,
        edit: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<bool, GitError> {
        let failed = |doing| GitError::errno(doing, worktree.path().join(path));
        let (folder, name) = openat::split(path.as_os_str().as_bytes());
        let opened = match openat::open_folder(worktree.root(), folder) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
            Err(error) => return Err(failed("open")(error)),
        };
        let (bytes, stat) = match openat::read(&opened, name, limit) {
            Ok(Some(read)) => read,
            Ok(None) | Err(Errno::NOENT | Errno::LOOP | Errno::INVAL | Errno::ISDIR) => {
                return Ok(false);
            }
            Err(error) => return Err(failed("read")(error)),
        };
        let Some(new) = edit(&bytes) else {
            return Ok(false);
        };
        openat::write(&opened, name, &new, stat.st_mode & 0o100 != 0).map_err(failed("write"))?;
        Ok(true)
    }
}
