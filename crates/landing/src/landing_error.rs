//! Why a run could not be reviewed, landed or cleaned.

use std::path::PathBuf;

use orchestrate_checks::ChecksError;
use orchestrate_core::{RunId, TaskId};
use orchestrate_git::GitError;
use orchestrate_journal::JournalError;

use crate::result_refusal::ResultRefusal;

/// Why a run could not be reviewed, landed or cleaned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LandingError {
    /// The user has to decide something first; nothing has changed.
    #[error(transparent)]
    Refused(#[from] ResultRefusal),
    /// The repository cannot be used, or a git operation failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Events cannot be recorded or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A check could not be run, or the state folder cannot be used.
    #[error(transparent)]
    Checks(ChecksError),
    /// A folder or a file cannot be created or read.
    #[error("use {path}: {source}")]
    Io {
        /// The path of the file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Git has no name and email address for commits.
    #[error("commit: git's user.name and user.email are not set")]
    NoIdentity,
    /// The task does not exist.
    #[error("find task {task} in run {run}")]
    UnknownTask {
        /// The run that was searched.
        run: RunId,
        /// The id, as requested.
        task: TaskId,
    },
    /// A comment refers to a line that is not in the task's work.
    #[error("find {file}:{line} in the work of {task}: {}", no_place(*.lines))]
    NoPlace {
        /// The run of the task.
        run: RunId,
        /// The task whose newest commit was searched.
        task: TaskId,
        /// The file, from the top of the repository.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The number of lines of the file, or `None` if there is no such file.
        lines: Option<usize>,
    },
    /// The user has changed nothing on a task's branch or in its worktree.
    #[error(
        "take what you changed for {task}: nothing on its branch or in its worktree differs from its work"
    )]
    NothingToAdopt {
        /// The run of the task.
        run: RunId,
        /// The task.
        task: TaskId,
    },
    /// The user's own changes are not in the work of which a part is to be taken.
    #[error("take a part of {task}: {own}")]
    OwnChanges {
        /// The run of the task.
        run: RunId,
        /// The task.
        task: TaskId,
        /// What is not in it, in words.
        own: String,
    },
    /// The work does not change a file of which it is to be taken.
    #[error("take `{unknown}` of {task}: its work changes no such file or folder")]
    NotChanged {
        /// The run of the task.
        run: RunId,
        /// The task.
        task: TaskId,
        /// The file or folder as named.
        unknown: String,
    },
    /// Conflicts are left in the worktree whose files are to be taken.
    #[error("take what you changed for {task}: these conflicts are not resolved: {}", files.join(", "))]
    InConflict {
        /// The task.
        task: TaskId,
        /// The files, each with the line of its first marker if it has one.
        files: Vec<String>,
    },
}

impl From<ChecksError> for LandingError {
    fn from(error: ChecksError) -> Self {
        match error {
            ChecksError::Git(error) => Self::Git(error),
            error => Self::Checks(error),
        }
    }
}

fn no_place(lines: Option<usize>) -> String {
    match lines {
        None => "there is no such file".to_owned(),
        Some(1) => "it has 1 line".to_owned(),
        Some(lines) => format!("it has {lines} lines"),
    }
}
