//! Who works on a run: at most one process, found out by the kernel.
//!
//! The lease is an exclusive `flock` on one file per run, so it ends with the process that holds it, however that
//! ends. The file says who holds it, for messages only. Should the file be deleted while it is held, a second
//! process can get a lease of the same run; the epoch in the database then fences the first.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orchestrate_core::ids::RunId;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::database;
use crate::error::JournalError;

/// How often taking the lease is tried: whoever only looks at it holds the lock for some microseconds.
const TRIES: u32 = 5;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// The process that works on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id; 0 if it has not written it down yet.
    pub pid: u32,
    /// When it took the run, in Unix milliseconds.
    pub since_ms: u64,
}

/// The right to write facts of a run, given back on drop.
#[derive(Debug)]
pub(crate) struct Lease {
    file: File,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Closing the file gives the lock back anyway; this only keeps a stale name out of messages.
        let _ = self.file.set_len(0);
    }
}

impl Lease {
    /// Takes the lease of a run, or says who has it.
    #[expect(clippy::disallowed_methods, reason = "a file lock of another process wakes nobody")]
    pub(crate) fn take(folder: &Path, run: &RunId, since_ms: u64) -> Result<Self, JournalError> {
        let path = path(folder, run);
        let failed = |error| JournalError::io(&path, error);
        database::create_private_folder(folder).map_err(failed)?;
        for again in (0..TRIES).rev() {
            let file = open(&path).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&file, &path) => {
                    let mut lease = Self { file };
                    lease.sign(since_ms).map_err(failed)?;
                    return Ok(lease);
                }
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) if again == 0 => {
                    let pid = signature(file).map_or(0, |holder| holder.pid);
                    return Err(JournalError::Held { run: run.clone(), pid });
                }
                Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
                Err(error) => return Err(failed(error.into())),
            }
        }
        Err(JournalError::Held { run: run.clone(), pid: 0 })
    }

    fn sign(&mut self, since_ms: u64) -> std::io::Result<()> {
        let holder = Holder { pid: std::process::id(), since_ms };
        self.file.set_len(0)?;
        self.file.write_all(serde_json::to_string(&holder)?.as_bytes())
    }
}

/// Tells who holds the lease of a run; none if nobody does, whatever the file says.
pub(crate) fn holder(folder: &Path, run: &RunId) -> Result<Option<Holder>, JournalError> {
    let path = path(folder, run);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(JournalError::io(&path, error)),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => Ok(Some(signature(file).unwrap_or(Holder { pid: 0, since_ms: 0 }))),
        Err(error) => Err(JournalError::io(&path, error.into())),
    }
}

fn path(folder: &Path, run: &RunId) -> PathBuf {
    folder.join(format!("{run}.lock"))
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Tells whether the open file is still the one of that name.
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
