//! Commits the content of a worktree, on the agent's behalf.
//!
//! A commit is created and held by a ref of ours, then the event is recorded, then the branch moves by
//! compare-and-swap; if killed in between, recovery moves the branch to its recorded position.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::event::{Event, ReturnCause, ToolOutcome};
use orchestrate_core::policy::Policy;
use orchestrate_core::{Oid, TaskRecord, git_path};
use orchestrate_git::{CommitSpec, Loss, SnapshotRules, Worktree};
use orchestrate_journal::unix_ms;

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// How many paths that git cannot store an event names before only counting them.
const LEFT_OUT_PATHS: usize = 20;

/// A new commit.
pub(crate) struct Made {
    pub(crate) commit: Oid,
    /// The paths in the worktree that git cannot store.
    pub(crate) left_out: Vec<String>,
    /// Unix seconds.
    pub(crate) time: i64,
}

/// The commit that a worktree becomes.
#[derive(Clone, Copy)]
pub(crate) struct NewTip<'a> {
    pub(crate) message: &'a str,
    /// The policy, which says which of the files that configure agents the user has opened.
    pub(crate) policy: &'a Policy,
    /// The tree that its agent has selected; `None` for everything.
    pub(crate) selected: Option<&'a Oid>,
    /// The commit that its agent is merging, which becomes the second parent.
    pub(crate) merging: Option<&'a Oid>,
}

/// Commits the worktree to the task's branch, or returns `None` if there is nothing to commit.
pub(crate) async fn commit_worktree(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
    tip: NewTip<'_>,
) -> Result<Option<Made>, CoordinatorError> {
    store(context, record, worktree, Some(tip)).await
}

/// Stores the worktree under a ref of ours, without moving the branch, and returns the commit, or `None` if the
/// worktree is as at the branch's tip. Its index lists its files afterwards.
pub(crate) async fn keep_worktree(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
) -> Result<Option<Oid>, CoordinatorError> {
    Ok(store(context, record, worktree, None).await?.map(|made| made.commit))
}

/// Commits a merge of the branch's tip with another commit to the task's branch.
pub(crate) async fn commit_merge(
    context: &RunContext,
    record: &TaskRecord,
    tree: Oid,
    tip: NewTip<'_>,
) -> Result<Option<Made>, CoordinatorError> {
    let Some(before) = record.tip().cloned() else { return Ok(None) };
    let parents: Vec<Oid> = std::iter::once(before).chain(tip.merging.cloned()).collect();
    let content = Content { tree, left_out: Vec::new(), parents };
    record_commit(context, record, content, Some(tip)).await.map(Some)
}

/// Requires that a tree changes no file that configures agents, compared with the commits that it continues from,
/// unless a tool has changed it.
pub(crate) async fn require_no_configuration(
    context: &RunContext,
    record: &TaskRecord,
    policy: &Policy,
    (tree, parents): (&Oid, &[&Oid]),
) -> Result<(), CoordinatorError> {
    let protected = configuring(context, policy, tree, parents.iter().copied()).await?;
    require_unconfigured(context, record, protected).await
}

/// The content of a new commit.
struct Content {
    tree: Oid,
    /// The paths in the worktree that git cannot store.
    left_out: Vec<String>,
    parents: Vec<Oid>,
}

/// Stores the worktree, as the branch's new tip or as a snapshot beside it.
async fn store(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
    as_tip: Option<NewTip<'_>>,
) -> Result<Option<Made>, CoordinatorError> {
    let Some(tip) = record.tip().cloned() else { return Ok(None) };
    let merging = as_tip.and_then(|new| new.merging.cloned());
    let onto = record.onto().cloned().filter(|_| as_tip.is_some()).or(merging);
    if let Some(NewTip { policy, selected, .. }) = as_tip {
        // Before the snapshot, whose index would be mistaken for staged changes of the user.
        let looked_at = Arc::clone(worktree);
        let tree = match selected {
            Some(tree) => tree.clone(),
            None => context.git(move |repo| repo.store().current_tree(&looked_at)).await?,
        };
        let protected = configuring(context, policy, &tree, std::iter::once(&tip).chain(&onto)).await?;
        require_unconfigured(context, record, protected).await?;
    }
    let of_tip = tip.clone();
    let tip_tree = context.git(move |repo| repo.tree_of(&of_tip)).await?;
    let newest = record.snapshot().map(|newest| newest.tree.clone());
    keep_staged(context, record, worktree, newest.into_iter().chain([tip_tree.clone()]).collect()).await?;
    let (tree, left_out) = match as_tip.and_then(|new| new.selected.cloned()) {
        Some(tree) => (tree, Vec::new()),
        None => snapshot_tree(context, record, worktree, as_tip.is_some()).await?,
    };
    if tree == tip_tree && onto.is_none() {
        return Ok(None);
    }
    let content = Content { tree, left_out, parents: std::iter::once(tip).chain(onto).collect() };
    record_commit(context, record, content, as_tip).await.map(Some)
}

/// Creates a commit, records it, and then moves the branch to it if it is the new tip.
async fn record_commit(
    context: &RunContext,
    record: &TaskRecord,
    content: Content,
    as_tip: Option<NewTip<'_>>,
) -> Result<Made, CoordinatorError> {
    let Content { tree, left_out, parents } = content;
    let before = parents.first().cloned();
    let number = record.snapshot().map_or(0, |newest| newest.number) + 1;
    let time = unix_seconds();
    let spec = CommitSpec {
        tree: tree.clone(),
        parents,
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
        context.git(move |repo| repo.advance(&branch, before.as_ref(), &new)).await?;
    }
    Ok(Made { commit, left_out, time })
}

/// Returns the files that configure agents and that a tree changes, compared with the commits that it continues from.
async fn configuring(
    context: &RunContext,
    policy: &Policy,
    tree: &Oid,
    parents: impl Iterator<Item = &Oid>,
) -> Result<Vec<PathBuf>, CoordinatorError> {
    let mut changed: Option<BTreeSet<PathBuf>> = None;
    for parent in parents {
        let (parent, tree) = (parent.clone(), tree.clone());
        let differ = context.git(move |repo| repo.store().changed_paths(&parent, &tree)).await?;
        changed = Some(match changed {
            None => differ.into_iter().collect(),
            Some(mut changed) => {
                changed.retain(|path| differ.binary_search(path).is_ok());
                changed
            }
        });
    }
    let mut paths: Vec<PathBuf> = changed.into_iter().flatten().collect();
    paths.retain(|path| policy.protects(&path.to_string_lossy()));
    Ok(paths)
}

/// Requires that no program has changed these files, which configure agents: only a tool may change them, and only
/// under a rule of the user's.
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

/// Returns the files that a task's agent has changed through the executor, which had checked its permission.
async fn written_by_tools(context: &RunContext, record: &TaskRecord) -> Result<BTreeSet<PathBuf>, CoordinatorError> {
    let (mut begun, mut written) = (BTreeMap::new(), BTreeSet::new());
    let (run, task) = (context.run.clone(), record.task.id.clone());
    for fact in context.read(move |store| store.events_of_task(&run, &task, 0, usize::MAX)).await? {
        match fact.event {
            Event::ToolStarted { call_id, writes, deletes, .. } => {
                begun.insert(call_id, writes.into_iter().chain(deletes).collect::<Vec<_>>());
            }
            // The end of an interrupted call was not observed, so the files may have been written.
            Event::ToolFinished { call_id, outcome: ToolOutcome::Ok | ToolOutcome::Interrupted, deleted, .. } => {
                let writes = begun.remove(&call_id).unwrap_or_default();
                written.extend(writes.into_iter().chain(deleted).map(PathBuf::from));
            }
            _ => {}
        }
    }
    Ok(written)
}

/// Keeps changes that the user has staged in a worktree, since a snapshot of its files replaces the index; the trees
/// known to be held are those of the tip and of the newest snapshot.
async fn keep_staged(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
    known: Vec<Oid>,
) -> Result<(), CoordinatorError> {
    let looked_at = Arc::clone(worktree);
    let staged = context.git(move |repo| repo.worktrees().staged_alone(&looked_at, &known)).await?;
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

/// Creates a commit and a ref that holds it; the ref's name contains the commit's id, so a repeated step never
/// collides with its own ref.
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

/// Stores the worktree's content as a tree, and returns the paths that git cannot store; runs no program.
async fn snapshot_tree(
    context: &RunContext,
    record: &TaskRecord,
    worktree: &Arc<Worktree>,
    on_branch: bool,
) -> Result<(Oid, Vec<String>), CoordinatorError> {
    let unrecorded = if on_branch { permitted_loss(record) } else { Loss::Everything };
    let take = |recorded_deletions| {
        let (worktree, rules) = (Arc::clone(worktree), SnapshotRules { recorded_deletions, unrecorded });
        context.git(move |repo| repo.store().snapshot(&worktree, &rules))
    };
    let taken = match take(Vec::new()).await {
        // Only now do deletions through the executor matter: finding them takes all events of the task.
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

/// Returns which files may be gone without a record: the user is responsible for a command, and an agent may confirm
/// that most files are to go, but not that all are.
fn permitted_loss(record: &TaskRecord) -> Loss {
    if record.is_command() {
        Loss::Everything
    } else if record.deletions_told() {
        Loss::Most
    } else {
        Loss::Half
    }
}

/// Returns the files that a task's agent has deleted through the executor.
async fn recorded_deletions(context: &RunContext, record: &TaskRecord) -> Result<Vec<PathBuf>, CoordinatorError> {
    let (mut begun, mut recorded_deletions) = (BTreeMap::new(), Vec::new());
    let (run, task) = (context.run.clone(), record.task.id.clone());
    for fact in context.read(move |store| store.events_of_task(&run, &task, 0, usize::MAX)).await? {
        match fact.event {
            Event::ToolStarted { call_id, deletes, .. } => {
                begun.insert(call_id, deletes);
            }
            // Its end was not observed, so each of these files may have been deleted.
            Event::ToolFinished { call_id, outcome: ToolOutcome::Interrupted, .. } => {
                let deletes = begun.remove(&call_id).unwrap_or_default().into_iter().map(PathBuf::from);
                recorded_deletions.extend(deletes.filter(|path| path.file_name().is_some()));
            }
            Event::ToolFinished { deleted, .. } => recorded_deletions.extend(deleted.into_iter().map(Into::into)),
            _ => {}
        }
    }
    Ok(recorded_deletions)
}

/// Returns the trailers of all our commits.
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

/// Reports whether the branch that a task is merged into contains its commit; always false without a commit.
pub(crate) async fn is_merged(context: &RunContext, record: &TaskRecord) -> Result<bool, CoordinatorError> {
    let own = record.tip().cloned().filter(|tip| record.base() != Some(tip));
    let (Some(tip), target) = (own, context.state().target_tip(record).clone()) else { return Ok(false) };
    context.git(move |repo| repo.contains(&target, &tip)).await
}

/// Returns the time for a commit.
pub(crate) fn unix_seconds() -> i64 {
    i64::try_from(unix_ms() / 1_000).unwrap_or(i64::MAX)
}
