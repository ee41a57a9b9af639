//! Why an operation on a finished run was refused: nothing has changed, and the user decides.

use orchestrate_core::run::request::RequestRefused;
use orchestrate_core::{RunId, TaskId};

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
