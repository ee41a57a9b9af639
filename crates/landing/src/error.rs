//! Why a run could not be reviewed, landed or cleaned. What is refused has changed nothing, and the
//! user decides.

use std::path::PathBuf;

use orchestrate_checks::ChecksError;
use orchestrate_core::run::request::RequestRefused;
use orchestrate_core::{RunId, TaskId};
use orchestrate_git::GitError;
use orchestrate_journal::JournalError;

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
        "take what you changed for {task}: nothing on its branch or in its worktree differs from \
         its work"
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
    #[error(
        "take what you changed for {task}: these conflicts are not resolved: {}",
        files.join(", ")
    )]
    InConflict {
        /// The task.
        task: TaskId,
        /// The files, each with the line of its first marker if it has one.
        files: Vec<String>,
    },
}

impl LandingError {
    /// Returns what makes an error of one of the file system.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl Fn(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            path: path.clone(),
            source,
        }
    }
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

/// Why a run was not landed, a landing not undone, or a snapshot not restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResultRefusal {
    /// The run was killed before it was complete.
    #[error("use the result of run {run}: the run was interrupted and must be completed first")]
    Unfinished {
        /// The run, whose end is not recorded.
        run: RunId,
    },
    /// The user has requested something of the run that no process has carried out yet.
    #[error(
        "use the result of run {run}: what you have requested of it is still to be carried out"
    )]
    Requested {
        /// The run, of which nothing has landed.
        run: RunId,
    },
    /// A landing was interrupted, and only the run's events say how to complete it.
    #[error("discard run {run}: its landing was interrupted and must be completed or undone first")]
    LandingOpen {
        /// The run, of which nothing was removed.
        run: RunId,
    },
    /// Nothing of the run was merged.
    #[error("propose run {run}: none of its work was merged")]
    NothingToPropose {
        /// The run, whose result is its base.
        run: RunId,
    },
    /// Work that was rejected is part of the result.
    #[error("land run {run}: {} was rejected after the merge, and nothing has replaced \
             it", listed(.tasks))]
    Rejected {
        /// The run, whose result contains that work.
        run: RunId,
        /// The tasks with that work.
        tasks: Vec<TaskId>,
        /// The tasks to drop so that it is gone: the same, or agents whose work contains theirs.
        drops: Vec<TaskId>,
    },
    /// The user has not looked at the result, and there is something to look at; only typing the
    /// landing lands it.
    #[error("land run {run} without being asked: somebody has to look at it first\n\
             {}", .cautions.join("\n"))]
    Cautions {
        /// The run, which has succeeded.
        run: RunId,
        /// High risks, and claims that the facts do not bear out.
        cautions: Vec<String>,
    },
    /// The work of other tasks does not fit together without the dropped one.
    #[error("drop {task} of run {run}: without it, the work merged after it conflicts in \
             {}", .files.join(", "))]
    Entangled {
        /// The run, whose result stays as it was.
        run: RunId,
        /// The task that was to be dropped.
        task: TaskId,
        /// The files in conflict, with git's name of each conflict.
        files: Vec<String>,
    },
    /// The result without the dropped task fails the run's check.
    #[error("drop {task} of run {run}: without it, `{command}` ended with {exit}\n{output}")]
    RedWithout {
        /// The run, whose result stays as it was.
        run: RunId,
        /// The task that was to be dropped.
        task: TaskId,
        /// The run's check, a shell command.
        command: Box<str>,
        /// How it ended, in words, such as `exit code 1`.
        exit: Box<str>,
        /// The end of its output.
        output: Box<str>,
    },
    /// The request to drop a task is refused.
    #[error("drop a task of run {run}: {why}")]
    NotDropped {
        /// The run, whose result stays as it was.
        run: RunId,
        /// Why; nothing has changed.
        why: RequestRefused,
    },
    /// No branch was checked out when the run began.
    #[error(
        "land run {run}: HEAD was detached when it began, so there is no branch to land its result \
         {result} on"
    )]
    DetachedHead {
        /// The run, which has ended.
        run: RunId,
        /// The commit of its result.
        result: String,
    },
    /// The user's branch no longer contains the run's base commit.
    #[error(
        "land {result} on {branch}: the branch no longer contains {base}, where the run started"
    )]
    BaseLost {
        /// The user's branch.
        branch: String,
        /// The commit of the run's result.
        result: String,
        /// The commit that the run started from.
        base: String,
    },
    /// The user's branch has new commits that conflict with the result.
    #[error("land on {branch}: its new commits conflict with the result {result} in \
             {}", .files.join(", "))]
    Conflict {
        /// The user's branch.
        branch: String,
        /// The commit of the run's result.
        result: String,
        /// The files in conflict, with git's name of each conflict.
        files: Vec<String>,
    },
    /// The result merged with the user's new commits fails the run's check.
    #[error(
        "land {result} on {branch}: merged with its new commits, `{command}` ended with {exit}\n\
         {output}"
    )]
    RedCheck {
        /// The user's branch.
        branch: String,
        /// The commit of the run's result.
        result: String,
        /// The run's check, a shell command.
        command: String,
        /// How it ended, in words, such as `exit code 1`.
        exit: String,
        /// The end of its output.
        output: Box<str>,
    },
    /// A stop was requested before anything was moved.
    #[error("land run {run}: it was interrupted before anything was moved")]
    Interrupted {
        /// The run, which can be landed later.
        run: RunId,
    },
    /// There is no landing to undo.
    #[error("undo the landing of run {run}: it has not landed, or was undone already")]
    NotLanded {
        /// The run, as requested.
        run: RunId,
        /// The newest run that has landed, or `None` if none has.
        other: Option<RunId>,
    },
    /// The branch has moved since the landing.
    #[error("undo the landing of run {run}: {branch} has moved since, from {landed} to {found}")]
    MovedSince {
        /// The run, which stays landed.
        run: RunId,
        /// The user's branch.
        branch: String,
        /// Where the landing left it.
        landed: String,
        /// Where it is.
        found: String,
    },
    /// There is no such snapshot.
    #[error("restore '{name}': run {run} has no such snapshot")]
    NoSnapshot {
        /// The run that was searched.
        run: RunId,
        /// The requested name.
        name: String,
    },
    /// The branch for a snapshot exists and points elsewhere.
    #[error("restore '{name}': branch {branch} exists already")]
    BranchTaken {
        /// The requested name.
        name: String,
        /// The branch that was to be created; it stays where it points.
        branch: String,
    },
}

fn listed(tasks: &[TaskId]) -> String {
    tasks
        .iter()
        .map(TaskId::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
