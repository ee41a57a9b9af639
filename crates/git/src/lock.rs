//! One lock per common directory, held around everything that makes or removes worktrees and branches.
//!
//! `git worktree add` creates an entry and fills it one call later; whoever lists worktrees in between dies.
//! The lock is `flock` on a file of ours, so it also holds against other processes of ours and goes away with
//! a process that is killed.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};

use crate::error::GitError;

/// The lock's file in the common directory.
const LOCK_FILE: &str = "orchestrate.lock";

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    file: Arc<OwnedFd>,
}

impl Held {
    /// Gives the open file, for a program that goes on under the lock if this process is killed.
    pub(crate) fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file)
    }
}

/// Waits for the common directory's lock.
pub(crate) fn common(common_dir: &Path) -> Result<Held, GitError> {
    let path = common_dir.join(LOCK_FILE);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(GitError::io("open", &path))?;
    loop {
        match flock(&file, FlockOperation::LockExclusive) {
            Ok(()) => return Ok(Held { file: Arc::new(file.into()) }),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(GitError::errno("lock", path)(error)),
        }
    }
}
