//! Everything that can go wrong with a journal, each with the path or id that it is about.
//!
//! Errors are cheap to clone, since a failed commit is told to everybody whose facts were in it. A refused fact is
//! [`JournalError::Illegal`]; it says that the caller's picture of the run is wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::RedactionError;
use orchestrate_core::ids::{BlobId, RunId};
use orchestrate_core::run_state::IllegalEvent;
use rusqlite::ErrorCode;

use crate::received::InboxId;
use orchestrate_core::request::{Holder, Purpose};

/// The error below ours, shared by everybody who is told of it.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Why the journal could not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or folder could not be read or written.
    #[error("use '{path}': {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: Cause,
    },
    /// The database said something that we have no better name for.
    #[error("use the journal '{path}': {source}")]
    Database {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: Cause,
    },
    /// There is no space left; nothing was recorded, and the same append works once there is space.
    #[error("write the journal '{path}': the disk is full; free some space and resume the run; nothing is lost")]
    DiskFull {
        /// The database.
        path: PathBuf,
    },
    /// The file system or the file is read-only.
    #[error("write the journal '{path}': it is read-only; make it writable or set XDG_STATE_HOME to another folder")]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// Another process held the database for too long.
    #[error("use the journal '{path}': another process has locked it; try again")]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// The database is damaged, truncated, or another program's; it is left as it is.
    #[error(
        "read the journal '{path}': {reason}; it was left as it is. Restore it from a backup, or move the folder \
         '{}' away to start over: branches and snapshots are safe in git", folder(.path).display()
    )]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another version of orchestrate made the database, in a format that this one does not read; it is left as it is.
    #[error("read the journal '{path}': {}", other_format((*.found, *.known), .path))]
    OtherFormat {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The format that we read.
        known: i64,
    },
    /// The folder cannot be made or looked into, or its path is too long.
    #[error("keep a journal in '{path}': {reason}; set XDG_STATE_HOME to another folder")]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The folder is on a file system where SQLite's locks and shared memory do not work.
    #[error(
        "keep a journal in '{path}': {kind} cannot hold one safely; set XDG_STATE_HOME to a folder on a local disk"
    )]
    ForeignFileSystem {
        /// The folder.
        path: PathBuf,
        /// The file system's name.
        kind: &'static str,
    },
    /// No run has that id or begins with that prefix.
    #[error("find run '{0}': this repository has no such run")]
    NoSuchRun(String),
    /// Several runs begin with that prefix.
    #[error("find run '{prefix}': several runs have this prefix: {}", list(.runs))]
    AmbiguousRun {
        /// What was typed.
        prefix: String,
        /// The runs that it may mean.
        runs: Vec<RunId>,
    },
    /// The new run's id is taken.
    #[error("start run {0}: a run with that id exists already")]
    RunExists(RunId),
    /// Another coordinator works on the run.
    #[error("take over run {run}: process {} {}", .holder.pid, purpose_in_words(.holder.purpose))]
    Held {
        /// The run.
        run: RunId,
        /// The other process; its id is 0 while it has not written it down.
        holder: Holder,
    },
    /// Another coordinator has taken the run over since; this one may write no more.
    #[error("record events of run {run}: another coordinator has taken it over")]
    Fenced {
        /// The run.
        run: RunId,
    },
    /// The facts cannot follow what happened before; none of them was recorded.
    #[error("record: {0}")]
    Illegal(#[from] IllegalEvent),
    /// A newer orchestrate recorded the fact, in a form that this one would misread.
    #[error("read run {run}: a newer orchestrate recorded event {seq} (version {v}); use that version")]
    NewerFact {
        /// The run.
        run: RunId,
        /// The fact.
        seq: u64,
        /// Its version.
        v: u32,
    },
    /// What is recorded is not what this version records.
    #[error("read run {run}: record {seq} is damaged: {reason}")]
    Undecodable {
        /// The run.
        run: RunId,
        /// The fact's or command's number.
        seq: u64,
        /// What the decoder said.
        reason: String,
    },
    /// A value has no JSON form.
    #[error("record: {0}")]
    Unencodable(String),
    /// A secret cannot be taken out of what was to be recorded, so that it was not recorded.
    #[error("record: {0}")]
    Secret(#[from] RedactionError),
    /// There is no such blob.
    #[error("read blob {0}: there is no such blob")]
    NoSuchBlob(BlobId),
    /// The blob's content is not what its id says.
    #[error("read blob {id}: its content has changed on disk")]
    DamagedBlob {
        /// The blob.
        id: BlobId,
    },
    /// A command of the run is open, so what was to be its last fact is not; nothing was recorded.
    #[error("end run {run}: a request is unanswered")]
    CommandOpen {
        /// The run.
        run: RunId,
    },
    /// There is no such command.
    #[error("answer request {0}: there is no such request")]
    NoSuchCommand(InboxId),
    /// The writer has ended.
    #[error("record events of run {0}: its journal is closed")]
    Closed(RunId),
}

impl JournalError {
    /// Says of a journal's folder why it cannot hold one.
    pub(crate) fn unusable(folder: &Path, source: std::io::Error) -> Self {
        match Self::io(folder, source) {
            Self::Io { path, source } => Self::Unusable { path, reason: source.to_string() },
            known => known,
        }
    }

    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::StorageFull {
            return Self::DiskFull { path: path.to_owned() };
        }
        if matches!(source.kind(), std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied) {
            return Self::ReadOnly { path: path.to_owned() };
        }
        Self::Io { path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn database(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            // Even reading takes a file for shared memory beside the database.
            Some(ErrorCode::CannotOpen) if !is_writable(folder(&path)) => Self::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::SystemIoFailure) => Self::Io { path, source: Arc::new(source) },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { path, reason: source.to_string() }
            }
            _ => Self::Database { path, source: Arc::new(source) },
        }
    }
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

/// Says what the process that holds a run does, and what can be done about it.
fn purpose_in_words(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Run => "works on it",
        Purpose::Land => "is landing it; try again when it is done",
        Purpose::Clean => "is cleaning it; try again when it is done",
    }
}

fn other_format((found, known): (i64, i64), path: &Path) -> String {
    if found > known {
        return format!("a newer orchestrate created it (format {found}, this one reads {known}); use that version");
    }
    let folder = folder(path).display();
    format!(
        "an older orchestrate created it (format {found}, this one reads {known}); finish its runs with that version, or \
        move the folder '{folder}' away to start over: branches and snapshots are safe in git"
    )
}
