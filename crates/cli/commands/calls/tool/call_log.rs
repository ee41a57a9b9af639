//! The log of a repository's calls, the numbers of their ids, and the calls that have not ended.
//!
//! Several processes share the folder. A call that has begun has a file that its process keeps
//! locked; a file that no process locks belongs to a process that was killed, and the next call
//! writes the end of its call.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orchestrate_core::policy::cache::ContentHash;
use orchestrate_core::projections::marker::{Marker, Reason};
use orchestrate_core::run::EXIT_INTERRUPTED;
use orchestrate_journal::unix_ms;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{CommandError, ErrorKind};

/// The log.
const LOG: &str = "log";
/// The log that was full.
const FULL_LOG: &str = "log.1";
/// The size from which a log is full: some ten thousand calls.
const FULL_BYTES: u64 = 8 << 20;
/// The file that is locked while the others change.
const LOCK: &str = "lock";
/// The last number of an id.
const NUMBER: &str = "number";
/// The markers of the start and the end of a call.
const STARTED: &str = ":::TOOL_START:::";
const ENDED: &str = ":::TOOL_END:::";
/// The folder of the calls that have begun.
const OPEN: &str = "open";

/// The log of a repository's calls.
pub(super) struct CallLog {
    folder: PathBuf,
}

/// A call that has begun; its file is locked as long as this process lives.
#[must_use]
pub(super) struct OpenCall {
    path: PathBuf,
    _locked: File,
}

impl CallLog {
    /// Opens the log, creates it if it is missing, and ends the calls of processes that were
    /// killed.
    pub(super) fn open(folder: &Path) -> Result<CallLog, CommandError> {
        let log = CallLog {
            folder: folder.to_owned(),
        };
        orchestrate_files::create_folder(&log.folder.join(OPEN)).map_err(unwritable(folder))?;
        log.end_orphans().map_err(unwritable(folder))?;
        Ok(log)
    }

    /// Returns an id that no other call of this repository has.
    pub(super) fn next_id(&self) -> Result<String, CommandError> {
        let next = || {
            let _locked = self.lock()?;
            let mut file = orchestrate_files::open_or_create(&self.folder.join(NUMBER))?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            let last: u64 = match text.as_str() {
                "" => 0,
                text => text.trim().parse().map_err(|_| {
                    let message = format!("{NUMBER}: not a number");
                    io::Error::new(io::ErrorKind::InvalidData, message)
                })?,
            };
            file.rewind()?;
            writeln!(file, "{}", last + 1)?;
            Ok(format!("tool_{:05}", last + 1))
        };
        next().map_err(unwritable(&self.folder))
    }

    /// Appends a line.
    pub(super) fn append(&self, line: &str) -> Result<(), CommandError> {
        self.write(line).map_err(unwritable(&self.folder))
    }

    /// Notes that a call begins, before its start is appended.
    pub(super) fn begin(&self, id: &str, start: u64) -> Result<OpenCall, CommandError> {
        let begin = || {
            let _locked = self.lock()?;
            let name = ContentHash::of_parts([id.as_bytes(), &std::process::id().to_be_bytes()]);
            let path = self.folder.join(OPEN).join(name.as_str());
            let mut file = orchestrate_files::create_file(&path)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            write!(file, "{start} {id}")?;
            Ok(OpenCall {
                path,
                _locked: file,
            })
        };
        begin().map_err(unwritable(&self.folder))
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let options = options.mode(orchestrate_files::PRIVATE_FILE);
        let mut file = options.open(self.log())?;
        // A full disk may have cut the last line.
        let is_cut = file.seek(io::SeekFrom::End(-1)).is_ok() && {
            let mut last = [0];
            file.read_exact(&mut last)?;
            last != *b"\n"
        };
        file.write_all(format!("{}{line}\n", if is_cut { "\n" } else { "" }).as_bytes())
    }

    fn log(&self) -> PathBuf {
        self.folder.join(LOG)
    }

    fn lock(&self) -> io::Result<File> {
        let file = orchestrate_files::open_or_create(&self.folder.join(LOCK))?;
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
        Ok(file)
    }

    /// Appends the ends of calls whose processes were killed, and begins a new log once it is full.
    fn end_orphans(&self) -> io::Result<()> {
        let _locked = self.lock()?;
        let mut is_idle = true;
        for entry in std::fs::read_dir(self.folder.join(OPEN))? {
            let path = entry?.path();
            // A call ends without the lock.
            let Ok(mut file) = File::open(&path) else {
                continue;
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => {
                    is_idle = false;
                    continue;
                }
                locked => locked?,
            }
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            if let Some((start, id)) = text.split_once(' ') {
                self.end_orphan(id, start.parse().unwrap_or_default())?;
            }
            remove(&path)?;
        }
        let is_full = (self.log().metadata()).is_ok_and(|log| log.len() > FULL_BYTES);
        if is_idle && is_full {
            std::fs::rename(self.log(), self.folder.join(FULL_LOG))?;
        }
        Ok(())
    }

    /// Appends the end of a call, unless its process was killed before it wrote the start, or after
    /// it wrote the end.
    fn end_orphan(&self, id: &str, start: u64) -> io::Result<()> {
        let ts = unix_ms();
        let end = Marker::ToolEnd {
            id: id.to_owned(),
            rc: EXIT_INTERRUPTED.into(),
            duration_ms: ts.saturating_sub(start),
            reason: Some(Reason::Interrupted),
            ts,
        };
        let end = end.to_string();
        // The marker and the id: what both lines of a call have in common.
        let of_id = end.split(' ').nth(1).unwrap_or_default();
        let log = match std::fs::read_to_string(self.log()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let last = log.lines().rfind(|line| {
            let is_marker = line.starts_with(STARTED) || line.starts_with(ENDED);
            is_marker && line.split(' ').nth(1) == Some(of_id)
        });
        if last.is_some_and(|line| line.starts_with(STARTED)) {
            self.write(&end)?;
        }
        Ok(())
    }
}

impl OpenCall {
    /// Forgets the call, once its end has been appended.
    pub(super) fn end(self) -> Result<(), CommandError> {
        remove(&self.path).map_err(unwritable(&self.path))
    }
}

/// Removes a file that another process may have removed.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn unwritable(folder: &Path) -> impl FnOnce(io::Error) -> CommandError {
    move |error| {
        let message = format!("failed to record the call in {}: {error}", folder.display());
        CommandError::new(ErrorKind::Failed, message)
    }
}
