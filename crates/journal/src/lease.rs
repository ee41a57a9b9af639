//! The lease of a run: at most one process works on a run, enforced by the kernel.
//!
//! The lease is an exclusive `flock` on one file per run, so it ends with the process that holds
//! it, however that ends. The content of the file names the holder, for messages only. If the file
//! is deleted while the lock is held, a second process can acquire a lease of the same run; the
//! epoch in the database then fences the first.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orchestrate_core::ids::RunId;
use orchestrate_files::if_there;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::error::JournalError;
use orchestrate_core::run::request::{Holder, Purpose};

/// How often to try for the lease: a process that only inspects it holds the lock for microseconds.
const TRIES: u32 = 5;
/// How often to try if the holder is dead. A program that the holder was just starting has a copy
/// of every open file until the kernel runs it, which takes a while on a loaded machine. Two
/// seconds in all.
const TRIES_AFTER_DEATH: u32 = 400;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// The right to record facts of a run, released on drop.
#[derive(Debug)]
pub(crate) struct Lease {
    file: File,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // This only keeps an outdated holder out of messages.
        let _ = self.file.set_len(0);
        // Closing the file alone releases the lock too late if a program that another thread is
        // just starting has a copy of it.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lease {
    /// Acquires the lease of a run; fails with its holder if another process has it.
    #[expect(
        clippy::disallowed_methods,
        reason = "a file lock of another process wakes nobody"
    )]
    pub(crate) fn take(
        folder: &Path,
        run: &RunId,
        since_ms: u64,
        purpose: Purpose,
    ) -> Result<Self, JournalError> {
        let path = path(folder, run);
        orchestrate_files::create_folder(folder).map_err(JournalError::at(&path))?;
        let mut tried = 0;
        loop {
            tried += 1;
            let file = orchestrate_files::open_or_create(&path).map_err(JournalError::at(&path))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&file, &path) => {
                    let mut lease = Self { file };
                    let signed = lease.sign(since_ms, purpose);
                    signed.map_err(JournalError::at(&path))?;
                    return Ok(lease);
                }
                Ok(()) if tried >= TRIES => return Err(held(run, None)),
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    let holder = signature(file);
                    if tried >= tries(holder.as_ref().map_or(0, |holder| holder.pid)) {
                        return Err(held(run, holder));
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(JournalError::io(&path, error.into())),
            }
        }
    }

    /// Releases the lease of a run that has no facts any more, and removes its file.
    pub(crate) fn remove(self, folder: &Path, run: &RunId) -> Result<(), JournalError> {
        let path = path(folder, run);
        if_there(std::fs::remove_file(&path))
            .map(drop)
            .map_err(JournalError::at(&path))
    }

    fn sign(&mut self, since_ms: u64, purpose: Purpose) -> std::io::Result<()> {
        let holder = Holder {
            pid: std::process::id(),
            since_ms,
            purpose,
        };
        self.file.set_len(0)?;
        self.file
            .write_all(serde_json::to_string(&holder)?.as_bytes())
    }
}

/// Returns the holder of a run's lease, or `None` if no process holds it, whatever the file
/// contains.
pub(crate) fn holder(folder: &Path, run: &RunId) -> Result<Option<Holder>, JournalError> {
    let path = path(folder, run);
    let Some(file) = if_there(File::open(&path)).map_err(JournalError::at(&path))? else {
        return Ok(None);
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => Ok(Some(signature(file).unwrap_or_default())),
        Err(error) => Err(JournalError::io(&path, error.into())),
    }
}

fn held(run: &RunId, holder: Option<Holder>) -> JournalError {
    JournalError::Held {
        run: run.clone(),
        holder: holder.unwrap_or_default(),
    }
}

/// Returns how often to try for a lease that the process with this id holds.
fn tries(holder: u32) -> u32 {
    let pid = i32::try_from(holder).ok().and_then(Pid::from_raw);
    let is_dead = pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH));
    if is_dead { TRIES_AFTER_DEATH } else { TRIES }
}

fn path(folder: &Path, run: &RunId) -> PathBuf {
    folder.join(format!("{run}.lock"))
}

/// Reports whether the open file is still the one at this path.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

fn signature(mut file: File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that another thread is just starting has such a copy of the file.
    #[test]
    fn a_lease_that_was_given_back_is_free_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId::new("r-test01");
        let lease = Lease::take(folder.path(), &run, 1, Purpose::Run).unwrap();
        let copy = lease.file.try_clone().unwrap();
        assert!(holder(folder.path(), &run).unwrap().is_some());
        drop(lease);
        assert_eq!(holder(folder.path(), &run).unwrap(), None);
        drop(copy);
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a process that is dead for certain has to be started first"
    )]
    fn a_dead_holder_is_given_time_to_let_go() {
        let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(
            [child.id(), std::process::id(), 0].map(tries),
            [TRIES_AFTER_DEATH, TRIES, TRIES]
        );
    }
}
