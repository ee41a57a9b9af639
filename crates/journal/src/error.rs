//! The errors of a journal, each with the path or id that it refers to.
//!
//! Errors are cheap to clone, because a failed commit is reported to every caller whose facts were
//! in it. A refused fact is [`JournalError::Illegal`]; it means that the caller's view of the run
//! is wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::RedactionError;
use orchestrate_core::event::IllegalEvent;
use orchestrate_core::ids::{BlobId, RunId};
use rusqlite::ErrorCode;

use crate::received::InboxId;
use orchestrate_core::run::request::{Holder, Purpose};

/// With less room than this, SQLite cannot create its files beside a database: that of its shared
/// memory has half.
const ROOM_BYTES: u64 = 64 << 10;

/// The underlying error, shared by all callers that it is reported to.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Why a journal operation failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or folder could not be read or written.
    #[error("use '{path}': {source}")]
    Io {
        /// The path of the file or folder.
        path: PathBuf,
        /// The system's error.
        source: Cause,
    },
    /// A database error without a more specific variant.
    #[error("use the journal '{path}': {source}")]
    Database {
        /// The path of the database.
        path: PathBuf,
        /// SQLite's error.
        source: Cause,
    },
    /// The disk is full. Nothing was recorded, and the same append works once there is space.
    #[error("write the journal '{path}': the disk is full")]
    DiskFull {
        /// The path of the database.
        path: PathBuf,
    },
    /// The file system or the file is read-only.
    #[error("write the journal '{path}': it is read-only")]
    ReadOnly {
        /// The path of the database.
        path: PathBuf,
    },
    /// Another process kept the database locked for too long.
    #[error("use the journal '{path}': another process has locked it; try again")]
    Busy {
        /// The path of the database.
        path: PathBuf,
    },
    /// The database is damaged, truncated, or of another program. It is not modified.
    #[error("read the journal '{path}': {reason}; it was left as it is")]
    Corrupt {
        /// The path of the database.
        path: PathBuf,
        /// Why it is refused.
        reason: String,
    },
    /// Another version of orchestrate created the database in a format that this one does not read.
    /// It is not modified.
    #[error("read the journal '{path}': {}", other_format(*.found, *.known))]
    OtherFormat {
        /// The path of the database.
        path: PathBuf,
        /// The format of the database.
        found: i64,
        /// The format that this version reads.
        known: i64,
    },
    /// The folder cannot be created or accessed, or its path is too long.
    #[error("keep a journal in '{path}': {reason}")]
    Unusable {
        /// The path of the folder.
        path: PathBuf,
        /// Why the folder cannot be used.
        reason: String,
    },
    /// The folder is on a file system where SQLite's locks and shared memory do not work.
    #[error("keep a journal in '{path}': {kind} cannot hold one safely")]
    ForeignFileSystem {
        /// The path of the folder.
        path: PathBuf,
        /// The file system's name.
        kind: &'static str,
    },
    /// No run has this id or an id with this prefix.
    #[error("find run '{0}': this repository has no such run")]
    NoSuchRun(String),
    /// Several runs have ids with this prefix.
    #[error("find run '{prefix}': several runs have this prefix: {}", list(.runs))]
    AmbiguousRun {
        /// The prefix that was given.
        prefix: String,
        /// The matching runs.
        runs: Vec<RunId>,
    },
    /// A run with this id exists already.
    #[error("start run {0}: a run with that id exists already")]
    RunExists(RunId),
    /// Another process holds the lease of the run.
    #[error("take over run {run}: process {} {}", .holder.pid, purpose_in_words(.holder.purpose))]
    Held {
        /// The id of the run.
        run: RunId,
        /// The other process; its id is 0 if it is not known yet.
        holder: Holder,
    },
    /// Another coordinator has taken the run over, so this one may no longer write.
    #[error("record events of run {run}: another coordinator has taken it over")]
    Fenced {
        /// The id of the run.
        run: RunId,
    },
    /// The facts cannot follow the recorded ones; none of them was recorded.
    #[error("record: {0}")]
    Illegal(#[from] IllegalEvent),
    /// A newer version recorded the fact, in a form that this one would misread.
    #[error(
        "read run {run}: a newer orchestrate recorded event {seq} (version {v}); use that version"
    )]
    NewerFact {
        /// The id of the run.
        run: RunId,
        /// The sequence number of the fact.
        seq: u64,
        /// The version of its form.
        v: u32,
    },
    /// A record of a known type cannot be decoded.
    #[error("read run {run}: record {seq} is damaged: {reason}")]
    Undecodable {
        /// The id of the run.
        run: RunId,
        /// The sequence number of the fact.
        seq: u64,
        /// The defect.
        reason: String,
    },
    /// A value has no JSON form.
    #[error("record: {0}")]
    Unencodable(Arc<serde_json::Error>),
    /// A secret cannot be removed from a fact or a request, so it was not recorded.
    #[error("record: {0}")]
    Secret(#[from] RedactionError),
    /// There is no such blob.
    #[error("read blob {0}: there is no such blob")]
    NoSuchBlob(BlobId),
    /// The blob's content does not match its id.
    #[error("read blob {id}: its content has changed on disk")]
    DamagedBlob {
        /// The id of the blob.
        id: BlobId,
    },
    /// The run has an open request, so its last facts were refused; nothing was recorded.
    #[error("end run {run}: a request is unanswered")]
    RequestOpen {
        /// The id of the run.
        run: RunId,
    },
    /// There is no such request.
    #[error("answer request {0}: there is no such request")]
    NoSuchRequest(InboxId),
    /// The writer has stopped.
    #[error("record events of run {0}: its journal is closed")]
    Closed(RunId),
}

impl JournalError {
    /// Describes why a folder cannot hold a journal.
    pub(crate) fn unusable(folder: &Path, source: std::io::Error) -> Self {
        match Self::io(folder, source) {
            Self::Io { path, source } => Self::Unusable {
                path,
                reason: source.to_string(),
            },
            known => known,
        }
    }

    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::StorageFull {
            return Self::DiskFull {
                path: path.to_owned(),
            };
        }
        if matches!(
            source.kind(),
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied
        ) {
            return Self::ReadOnly {
                path: path.to_owned(),
            };
        }
        Self::Io {
            path: path.to_owned(),
            source: Arc::new(source),
        }
    }

    /// Returns what makes an error of a failure at a path.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::io(path, error)
    }

    /// Returns what makes an error of a failure of a database.
    pub(crate) fn in_database(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self {
        move |error| Self::database(path, error)
    }

    pub(crate) fn unencodable(error: serde_json::Error) -> Self {
        Self::Unencodable(Arc::new(error))
    }

    pub(crate) fn database(path: &Path, source: rusqlite::Error) -> Self {
        Self::sorted(path, source, is_full)
    }

    /// Sorts an error of SQLite's, which knows a full disk only while it writes the database
    /// itself: otherwise its error is that of any failure to write or to create a file, and the
    /// free space decides.
    fn sorted(path: &Path, source: rusqlite::Error, is_full: impl Fn(&Path) -> bool) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            // Even reading needs to create a file for shared memory beside the database.
            Some(ErrorCode::CannotOpen) if !is_writable(folder(&path)) => Self::ReadOnly { path },
            Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) if is_full(folder(&path)) => {
                Self::DiskFull { path }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::SystemIoFailure) => Self::Io {
                path,
                source: Arc::new(source),
            },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt {
                path,
                reason: source.to_string(),
            },
            _ => Self::Database {
                path,
                source: Arc::new(source),
            },
        }
    }
}

/// Reports whether a folder's disk has no room for the files that SQLite creates beside a database.
/// A file system that does not say how large it is does not say how full it is, either.
fn is_full(folder: &Path) -> bool {
    let found = rustix::fs::statvfs(folder);
    found.is_ok_and(|found| {
        found.f_blocks > 0 && found.f_bavail.saturating_mul(found.f_frsize) < ROOM_BYTES
    })
}

fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn list(runs: &[RunId]) -> String {
    let names: Vec<&str> = runs.iter().map(RunId::as_str).collect();
    names.join(", ")
}

/// Describes what the process that holds a run does, and how to continue.
fn purpose_in_words(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Run => "works on it",
        Purpose::Land => "is landing it; try again when it is done",
        Purpose::Clean => "is cleaning it; try again when it is done",
        Purpose::Drop => "is dropping a task of it; try again when it is done",
    }
}

fn other_format(found: i64, known: i64) -> String {
    let version = if found > known { "a newer" } else { "an older" };
    format!("{version} orchestrate created it (format {found}, this one reads {known})")
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_failure_on_a_full_disk_says_that_it_is_full() {
        let folder = std::env::temp_dir();
        let path = folder.join("journal.db");
        let sorted = |code, is_full: bool| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            JournalError::sorted(&path, error, |asked| is_full && asked == folder)
        };
        for code in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR_SHMSIZE,
            ffi::SQLITE_IOERR,
            ffi::SQLITE_CANTOPEN,
        ] {
            let said = sorted(code, true).to_string();
            assert_eq!(
                said,
                format!("write the journal '{}': the disk is full", path.display()),
                "{code}"
            );
        }
        assert!(matches!(
            sorted(ffi::SQLITE_IOERR_SHMSIZE, false),
            JournalError::Io { .. }
        ));
        assert!(matches!(
            sorted(ffi::SQLITE_CANTOPEN, false),
            JournalError::Database { .. }
        ));
        // The files of the kernel say that they have no blocks at all.
        assert!(!is_full(Path::new("/proc")));
    }
}
