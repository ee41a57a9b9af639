//! Turns what a worktree holds into commits, on the agent's behalf.
//!
//! A commit is made and anchored by a keep-ref, then the fact is recorded, then the branch moves by compare-and-swap;
//! killed in between, recovery moves the branch to where the fact says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::event::{Event, ReturnCause, ToolOutcome};
use orchestrate_core::policy::Policy;
use orchestrate_core::{Oid, TaskRecord, git_path};
use orchestrate_git::{CommitSpec, Loss, SnapshotRules, Worktree};
use orchestrate_journal::unix_ms;
use serde_json::Value;

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// The tool that deletes a file, whose calls are the record of it.
const DELETING_TOOL: &str = "delete_file";
/// The tools that change a file by its path, whose calls are the record of it.
const WRITING_TOOLS: [&str; 3] = ["write_file", "update_file", DELETING_TOOL];
/// How many paths that git cannot store a fact names before it only counts them.
const LEFT_OUT_PATHS: usize = 20;

/// A commit that was made.
pub(crate) struct Made {
    pub(crate) commit: Oid,
    /// What git cannot store of the worktree.
    pub(crate) left_out: Vec<String>,
    /// Unix seconds.
    pub(crate) time: i64,
}

/// What a worktree is committed as.
#[derive(Clone, Copy)]
pub(crate) struct NewTip<'a> {
    pub(crate) message: &'a str,
    /// Says which of the files that configure agents the user has opened.
    pub(crate) policy: &'a Policy,
}

/// Commits the worktree as it stands onto the task's branch, or `None` if there is nothing to commit.
pub(crate) async fn commit_worktree(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
    tip: NewTip<'_>,
) -> Result<Option<Made>, CoordinatorError> {
    store(context, record, worktree, Some(tip)).await
}

/// Keeps the worktree as it stands under a keep-ref, without moving the branch.
pub(crate) async fn keep_worktree(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
) -> Result<(), CoordinatorError> {
    store(context, record, worktree, None).await?;
    Ok(())
}

/// Stores the worktree; as the branch's new tip, or as a snapshot beside it.
async fn store(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
    as_tip: Option<NewTip<'_>>,
) -> Result<Option<Made>, CoordinatorError> {
    let Some(tip) = record.tip().cloned() else { return Ok(None) };
    if let Some(NewTip { policy, .. }) = as_tip {
        // Before the snapshot, whose index would be taken for what a person has staged.
        let looked_at = Arc::clone(worktree);
        let tree = context.git(move |repo| repo.current_tree(&looked_at)).await?;
        let protected = configuring(context, policy, &tree, std::iter::once(&tip).chain(record.onto())).await?;
        require_unconfigured(context, record, protected).await?;
    }
    let of_tip = tip.clone();
    let tip_tree = context.git(move |repo| repo.tree_of(&of_tip)).await?;
    let newest = record.snapshot().map(|newest| newest.tree.clone());
    keep_staged(context, record, worktree, newest.into_iter().chain([tip_tree.clone()]).collect()).await?;
    let (tree, left_out) = snapshot_tree(context, record, worktree, as_tip.is_some()).await?;
    let onto = record.onto().cloned().filter(|_| as_tip.is_some());
    if tree == tip_tree && onto.is_none() {
        return Ok(None);
    }
    let number = record.snapshot().map_or(0, |newest| newest.number) + 1;
    let time = unix_seconds();
    let spec = CommitSpec {
        tree: tree.clone(),
        parents: std::iter::once(tip.clone()).chain(onto).collect(),
        message: as_tip.map_or("Snapshot", |tip| tip.message).to_owned(),
        trailers: trailers(context, record),
        by: context.identities.clone(),
        time_unix: time,
    };
    let commit = keep_commit(context, spec, format!("{}/{number}", record.task.id.branch_component())).await?;
    let (task, on_branch) = (record.task.id.clone(), as_tip.is_some());
    let taken =
        Event::SnapshotTaken { task, number, commit: commit.clone(), tree, on_branch, left_out: left_out.clone() };
    context.record(vec![taken]).await?;
    if on_branch {
        let (branch, new) = (format!("refs/heads/{}", context.run.task_branch(&record.task.id)), commit.clone());
        context.git(move |repo| repo.advance(&branch, Some(&tip), &new)).await?;
    }
    Ok(Some(Made { commit, left_out, time }))
}

/// Returns the files that configure agents and that a tree changes; what one of the commits that it goes on from holds
/// is as it was.
async fn configuring(
    context: &RunContext,
    policy: &Policy,
    tree: &Oid,
    parents: impl Iterator<Item = &Oid>,
) -> Result<Vec<PathBuf>, CoordinatorError> {
    let mut changed: Option<BTreeSet<PathBuf>> = None;
    for parent in parents {
        let (parent, tree) = (parent.clone(), tree.clone());
        let differ = context.git(move |repo| repo.differing_paths(&parent, &tree)).await?;
        changed = Some(match changed {
            None => differ.into_iter().collect(),
            Some(mut changed) => {
                changed.retain(|path| differ.contains(path));
                changed
            }
        });
    }
    let mut paths: Vec<PathBuf> = changed.into_iter().flatten().collect();
    paths.retain(|path| policy.protects(&path.to_string_lossy()));
    Ok(paths)
}

/// Requires that no program has changed these files, which configure agents: only a tool changes them, and that only
/// by a rule of the user's.
async fn require_unconfigured(
    context: &RunContext,
    record: &TaskRecord,
    mut paths: Vec<PathBuf>,
) -> Result<(), CoordinatorError> {
    if paths.is_empty() {
        return Ok(());
    }
    let written = written_by_tools(context, record).await?;
    paths.retain(|path| !written.contains(path));
    if paths.is_empty() { Ok(()) } else { Err(CoordinatorError::Configuration { paths }) }
}

/// Returns the files that a task's agent has changed through the executor, which had been asked whether it may.
async fn written_by_tools(context: &RunContext, record: &TaskRecord) -> Result<BTreeSet<PathBuf>, CoordinatorError> {
    let (mut begun, mut written) = (BTreeMap::new(), BTreeSet::new());
    let (run, task) = (context.run.clone(), record.task.id.clone());
    for fact in context.read(move |store| store.events_of_task(&run, &task, 0, usize::MAX)).await? {
        match fact.event {
            Event::ToolStarted { call_id, tool, arguments, .. } if WRITING_TOOLS.contains(&tool.as_str()) => {
                let path = arguments.get("path").and_then(Value::as_str).map(PathBuf::from);
                begun.extend(path.map(|path| (call_id, path)));
            }
            // Nobody saw the end of one that was interrupted, so the file may be as it was to be.
            Event::ToolFinished { call_id, outcome: ToolOutcome::Ok | ToolOutcome::Interrupted, deleted, .. } => {
                written.extend(begun.remove(&call_id));
                written.extend(deleted.into_iter().map(PathBuf::from));
            }
            _ => {}
        }
    }
    Ok(written)
}

/// Keeps what a person has staged in a worktree, since a snapshot of its files takes its place in the index;
/// the trees that are known to be held are those of the tip and of the newest snapshot.
async fn keep_staged(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
    known: Vec<Oid>,
) -> Result<(), CoordinatorError> {
    let looked_at = Arc::clone(worktree);
    let staged = context.git(move |repo| repo.staged_alone(&looked_at, &known)).await?;
    let (Some(tree), Some(tip)) = (staged, record.tip().cloned()) else { return Ok(()) };
    let spec = CommitSpec {
        tree,
        parents: vec![tip],
        message: "Staged by a person".to_owned(),
        trailers: trailers(context, record),
        by: context.identities.clone(),
        time_unix: unix_seconds(),
    };
    keep_commit(context, spec, format!("{}/staged", record.task.id.branch_component())).await.map(drop)
}

/// Makes a commit and anchors it; the ref's name holds the commit's, so a repeated step never meets its own ref.
pub(crate) async fn keep_commit(context: &RunContext, spec: CommitSpec, name: String) -> Result<Oid, CoordinatorError> {
    let prefix = context.run.keep_prefix();
    context
        .git(move |repo| {
            let commit = repo.commit(&spec)?;
            let short: String = commit.as_str().chars().take(12).collect();
            repo.keep(&format!("{prefix}{name}-{short}"), &commit)?;
            Ok(commit)
        })
        .await
}

/// Stores the worktree's content as a tree, and says what git cannot store of it; no program runs for it.
async fn snapshot_tree(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
    on_branch: bool,
) -> Result<(Oid, Vec<String>), CoordinatorError> {
    let unrecorded = if on_branch { permitted_loss(record) } else { Loss::Everything };
    let take = |recorded_deletions| {
        let (worktree, rules) = (Arc::clone(worktree), SnapshotRules { recorded_deletions, unrecorded });
        context.git(move |repo| repo.snapshot(&worktree, &rules))
    };
    let taken = match take(Vec::new()).await {
        // Only now does it matter what was deleted through the executor: it takes all facts of the task to know.
        Err(error) if error.return_cause() == Some(ReturnCause::Deletions) => {
            take(recorded_deletions(context, record).await?).await?
        }
        taken => taken?,
    };
    let nested = taken.nested_repositories.iter().map(|folder| folder.join(".git"));
    let mut left_out: Vec<String> = nested.chain(taken.special_files).map(|path| git_path::text(&path)).collect();
    if left_out.len() > LEFT_OUT_PATHS {
        let more = left_out.split_off(LEFT_OUT_PATHS).len();
        left_out.push(format!("and {more} more"));
    }
    Ok((taken.tree, left_out))
}

/// Returns what may be gone without a record: a person wrote what a command does, and an author may confirm that most
/// files have to go. That nothing is left is no agent's word.
fn permitted_loss(record: &TaskRecord) -> Loss {
    if record.is_command() {
        Loss::Everything
    } else if record.deletions_told() {
        Loss::Most
    } else {
        Loss::Half
    }
}

/// Returns what a task's agent has deleted through the executor.
async fn recorded_deletions(context: &RunContext, record: &TaskRecord) -> Result<Vec<PathBuf>, CoordinatorError> {
    let (mut begun, mut recorded_deletions) = (BTreeMap::new(), Vec::new());
    let (run, task) = (context.run.clone(), record.task.id.clone());
    for fact in context.read(move |store| store.events_of_task(&run, &task, 0, usize::MAX)).await? {
        match fact.event {
            Event::ToolStarted { call_id, tool, arguments, .. } if tool == DELETING_TOOL => {
                let path = arguments.get("path").and_then(Value::as_str).map(PathBuf::from);
                begun.extend(path.filter(|path| path.file_name().is_some()).map(|path| (call_id, path)));
            }
            // Nobody saw its end, so the file may be gone: it was to be.
            Event::ToolFinished { call_id, outcome: ToolOutcome::Interrupted, .. } => {
                recorded_deletions.extend(begun.remove(&call_id));
            }
            Event::ToolFinished { deleted, .. } => recorded_deletions.extend(deleted.into_iter().map(Into::into)),
            _ => {}
        }
    }
    Ok(recorded_deletions)
}

/// The trailers of every commit of ours.
pub(crate) fn trailers(context: &RunContext, record: &TaskRecord) -> Vec<(String, String)> {
    let mut trailers = Vec::new();
    if let Some(model) = record.model() {
        trailers.push(("Assisted-by".to_owned(), format!("orchestrate:{model}")));
    }
    trailers.push(("Orchestrate-Run".to_owned(), context.run.to_string()));
    trailers.push(("Orchestrate-Task".to_owned(), record.task.id.to_string()));
    if let Some(agent) = record.agent() {
        trailers.push(("Orchestrate-Agent".to_owned(), agent.to_owned()));
    }
    trailers
}

/// Reports whether the integration branch holds what a task has committed; a branch without a commit holds nothing.
pub(crate) async fn is_merged(context: &RunContext, record: &TaskRecord) -> Result<bool, CoordinatorError> {
    let own = record.tip().cloned().filter(|tip| record.base() != Some(tip));
    let (Some(tip), integration) = (own, context.state().integration.clone()) else { return Ok(false) };
    context.git(move |repo| repo.contains(&integration, &tip)).await
}

/// Returns the time for a commit.
pub(crate) fn unix_seconds() -> i64 {
    i64::try_from(unix_ms() / 1_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_records_a_change_is_a_tool() {
        let known = orchestrate_tools::builtin_names();
        assert!(WRITING_TOOLS.iter().all(|tool| known.contains(tool)));
    }
}
