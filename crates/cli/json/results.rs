//! The outputs of the commands about the result of a run, and about what is left of runs.

use std::path::PathBuf;

use orchestrate_core::{CallHash, Oid, RunId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A result that has landed, or a landing that was undone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LandReport {
    /// The exit code.
    pub(crate) exit_code: u8,
    /// In a stream: the number of the newest event of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<u64>,
    /// The user's branch.
    pub(crate) branch: String,
    /// Its previous tip.
    pub(crate) from: Oid,
    /// Its new tip; the same if there was nothing to land.
    pub(crate) to: Oid,
    /// Whether it was merged with the branch's new commits.
    pub(crate) merged: bool,
    /// How the branch has changed: `nothing`, `fast_forward`, `merge`, `squash` or `rebase`.
    pub(crate) brought: String,
    /// Whether every new commit is signed; null if the user signs no commits, or there is none.
    pub(crate) signed: Option<bool>,
    /// The hooks that git would have run, and that were not run.
    pub(crate) skipped_hooks: Vec<String>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
    /// What became of the plan's boxes; null if none was to be ticked.
    pub(crate) boxes: Option<BoxesReport>,
}

/// What became of a plan's boxes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BoxesReport {
    /// The file in which they were ticked.
    pub(crate) written: Option<String>,
    /// Why they were left as they are.
    pub(crate) reason: Option<String>,
}

/// A result that was pushed, with its pull request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProposedReport {
    /// The exit code.
    pub(crate) exit_code: u8,
    /// The name of the remote.
    pub(crate) remote: String,
    /// The branch of the remote that was pushed to.
    pub(crate) head: String,
    /// The branch that it is to be merged into.
    pub(crate) base: String,
    /// What the program that opens pull requests has said; null if none is open.
    pub(crate) opened: Option<String>,
    /// Whether the pull request was open before.
    pub(crate) updated: bool,
    /// Why it was not opened.
    pub(crate) error: Option<String>,
    /// The commands that open it by hand.
    pub(crate) commands: Vec<String>,
    /// The hooks that `git push` would have run, and that were not run.
    pub(crate) skipped_hooks: Vec<String>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
}

/// Tasks that were dropped.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DroppedReport {
    /// The tasks: the requested one, and those that were built on it.
    pub(crate) tasks: Vec<TaskId>,
    /// The tip of the result without them.
    pub(crate) integration_commit: Oid,
    /// Whether the result has changed.
    pub(crate) rebuilt: bool,
    /// The tasks whose work is merged without a review now.
    pub(crate) unreviewed: Vec<TaskId>,
    /// Whether a resumed run has something to do.
    pub(crate) goes_on: bool,
}

/// The worktrees of a run that were removed, or would be.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CleanReport {
    /// Whether nothing was removed.
    pub(crate) dry_run: bool,
    /// The worktrees.
    pub(crate) removed: Vec<RemovedTree>,
    /// Those that are kept.
    pub(crate) kept: Vec<KeptTree>,
    /// The branches of failed tasks.
    pub(crate) branches: Vec<RemovedBranch>,
    /// Whether the files are still being deleted.
    pub(crate) in_background: bool,
    /// What could not be deleted.
    pub(crate) warnings: Vec<String>,
}

/// A worktree that was removed, or would be.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RemovedTree {
    /// Its task; null for those in which merged trees are checked.
    pub(crate) task: Option<TaskId>,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// A worktree that is kept.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KeptTree {
    /// Its task.
    pub(crate) task: TaskId,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Why.
    pub(crate) reason: String,
    /// The ignored files in it that prevent its removal.
    pub(crate) ignored: Vec<String>,
}

/// The branch of a failed task that was removed, or would be.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RemovedBranch {
    /// The task.
    pub(crate) task: TaskId,
    /// The branch.
    pub(crate) branch: String,
    /// The name that holds its commits, for `recover`; null if the result contains them.
    pub(crate) kept_as: Option<String>,
}

/// What was removed of runs that have landed, or would be.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PrunedEntry {
    /// Whether nothing was removed.
    pub(crate) dry_run: bool,
    /// How many of the newest runs are spared.
    pub(crate) keep_runs: usize,
    /// The runs.
    pub(crate) items: Vec<CleanedRun>,
    /// What could not be removed.
    pub(crate) warnings: Vec<String>,
}

/// What was removed of one run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CleanedRun {
    /// The run.
    pub(crate) run_id: RunId,
    /// Its worktrees.
    pub(crate) worktrees: Vec<PathBuf>,
    /// The refs that are gone.
    pub(crate) refs: Vec<String>,
    /// The refs that stay.
    pub(crate) kept_refs: Vec<String>,
}

/// A run that was removed, or would be.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DiscardReport {
    /// Whether nothing was removed.
    pub(crate) dry_run: bool,
    /// Its worktrees.
    pub(crate) worktrees: Vec<PathBuf>,
    /// Those of them with files that are in no commit.
    pub(crate) edited: Vec<PathBuf>,
    /// Its branches and other refs.
    pub(crate) refs: Vec<String>,
    /// The commits that are lost.
    pub(crate) lost: Vec<LostEntry>,
    /// The branches that stay, since they are checked out.
    pub(crate) kept_refs: Vec<String>,
    /// The number of its events.
    pub(crate) events: u64,
    /// The requests that were recorded, and that no process has carried out.
    pub(crate) requests: Vec<RecordedRequest>,
    /// What could not be deleted.
    pub(crate) warnings: Vec<String>,
}

/// A request that was recorded, and that no process has carried out.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RecordedRequest {
    /// When it was made.
    pub(crate) requested: String,
    /// The command that makes it.
    pub(crate) command: String,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<TaskId>,
    /// The call that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<CallHash>,
    /// Whom a message is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// The message to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// A commit that is lost.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LostEntry {
    /// A ref that holds it.
    pub(crate) r#ref: String,
    /// The commit.
    pub(crate) commit: Oid,
    /// The first line of its message.
    pub(crate) subject: String,
}

/// A stored commit of a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StoredCommit {
    /// The name that `recover --restore` takes.
    pub(crate) name: String,
    /// The commit.
    pub(crate) commit: Oid,
    /// Its time.
    pub(crate) ts: String,
    /// The first line of its message.
    pub(crate) subject: String,
}

/// A stored commit that is a branch now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RestoredCommit {
    /// Its name.
    pub(crate) name: String,
    /// The branch.
    pub(crate) branch: String,
}
