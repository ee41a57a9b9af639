//! One lock per repository, held around everything that makes or removes worktrees and moves the user's branches.
//!
//! `git worktree add` creates an entry and fills it one call later; whoever lists worktrees in between dies. The lock
//! is `flock` on a file of ours, so it also holds against other processes of ours and goes away with a process that is
//! killed. It is in a folder that this user alone can enter and that no confined process sees: whoever can open a file
//! can lock it. It says who holds it, for who waits too long.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::GitError;

/// The lock's file in the repository's folder of ours.
const LOCK_FILE: &str = "lock";
/// How long we wait: longer than a landing of many files takes, and not so long that one would take us for dead.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long we wait between two looks. Each thing that is done under the lock takes some milliseconds.
const PAUSE: Duration = Duration::from_millis(2);
/// More than a process's number is long.
const PID_BYTES: u64 = 32;

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    file: Arc<OwnedFd>,
    folder: PathBuf,
}

impl Held {
    /// Gives the open file, for a program that goes on under the lock if this process is killed.
    pub(crate) fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file)
    }

    /// Gives the folder of ours in which who holds the lock may keep what outlives him.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Closing the file gives the lock back, but not while a program that another thread is just starting has a
        // copy.
        let _ = flock(&*self.file, FlockOperation::Unlock);
    }
}

/// Waits for the lock in a repository's folder of ours.
pub(crate) fn take(folder: &Path) -> Result<Held, GitError> {
    take_within(folder, PATIENCE)
}

#[expect(clippy::disallowed_methods, reason = "a file lock of another process wakes nobody")]
fn take_within(folder: &Path, patience: Duration) -> Result<Held, GitError> {
    orchestrate_files::create_folder(folder).map_err(GitError::io("make", folder))?;
    let path = folder.join(LOCK_FILE);
    let mut file = orchestrate_files::open_or_create(&path).map_err(GitError::io("open", &path))?;
    let until = Instant::now() + patience;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() >= until => {
                return Err(GitError::Busy { path, seconds: patience.as_secs(), holder: holder(&file) });
            }
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            Err(error) => return Err(GitError::errno("lock", path)(error)),
        }
    }
    let signed = file.set_len(0).and_then(|()| file.write_all(std::process::id().to_string().as_bytes()));
    signed.map_err(GitError::io("write", &path))?;
    Ok(Held { file: Arc::new(file.into()), folder: folder.to_owned() })
}

/// Gives who has signed the lock last.
fn holder(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_BYTES).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_has_a_limit_and_names_the_holder() {
        let folder = tempfile::tempdir().unwrap();
        let held = take(folder.path()).unwrap();
        let error = take_within(folder.path(), Duration::ZERO).unwrap_err();
        let expected = Some(std::process::id());
        assert!(matches!(&error, GitError::Busy { holder, .. } if *holder == expected), "{error}");
        drop(held);
        take_within(folder.path(), Duration::ZERO).unwrap();
    }
}
