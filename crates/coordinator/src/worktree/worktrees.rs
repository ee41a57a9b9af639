//! The worktrees of a run: created or taken over, and stored before they could be lost.

use std::sync::Arc;

use orchestrate_core::event::Event;
use orchestrate_core::{Oid, TaskId, TaskRecord};
use orchestrate_git::{GitError, Repo, Worktree, WorktreeSpec};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::worktree::commit;

/// Opens the worktree of a started task, recreating a directory that was deleted by hand.
pub(crate) async fn open(context: &RunContext, record: &TaskRecord) -> Result<Arc<Worktree>, CoordinatorError> {
    let task = record.task.id.clone();
    let unknown = || CoordinatorError::UnknownTask { run: context.run.clone(), task: task.clone() };
    let spec = worktree_spec(context, &task, record.tip().cloned().ok_or_else(unknown)?);
    Ok(Arc::new(context.git(move |repo| repo.worktrees().add(&spec)).await?))
}

/// Recreates git's entry for a task's worktree if it was deleted: the files still exist, and are kept.
pub(crate) async fn restore(context: &RunContext, record: &TaskRecord) -> Result<(), CoordinatorError> {
    let Some(tip) = record.tip().cloned() else { return Ok(()) };
    let spec = worktree_spec(context, &record.task.id, tip);
    let merged = record.repair().is_some().then(|| conflict_anchor(context, &record.task.id));
    let restored = context.git(move |repo| {
        let merged = merged.map(|anchor| repo.read_ref(&anchor)).transpose()?.flatten();
        repo.worktrees().restore_entry(&spec, merged.as_ref().unwrap_or(&spec.base))
    });
    restored.await
}

/// Returns the ref that holds the merge written into a task's worktree.
pub(crate) fn conflict_anchor(context: &RunContext, task: &TaskId) -> String {
    format!("{}{}/conflict", context.run.keep_prefix(), task.branch_component())
}

/// Records that a task's worktree is gone before it is recreated: its setup and merges have to be repeated.
pub(crate) async fn record_loss(context: &RunContext, record: &TaskRecord) -> Result<(), CoordinatorError> {
    restore(context, record).await?;
    let task = record.task.id.clone();
    let path = context.layout.worktree(&context.run, &task);
    let look = move |repo: &Repo| match repo.worktrees().open(&path) {
        Err(GitError::NoWorktree { .. }) => Ok(true),
        // Other problems are reported where the worktree is used.
        _ => Ok(false),
    };
    if record.is_prepared() && context.git(look).await? {
        context.record(vec![Event::WorktreeLost { task }]).await?;
    }
    Ok(())
}

/// Stores the content of a task's worktree, if it has one, and returns the commit, or `None` if it is as at the
/// branch's tip.
pub(crate) async fn keep(context: &RunContext, task: &TaskId) -> Result<Option<Oid>, CoordinatorError> {
    let record = context.task(task)?;
    if record.tip().is_none() || !context.layout.worktree(&context.run, task).exists() {
        return Ok(None);
    }
    let worktree = open(context, &record).await?;
    commit::keep_worktree(context, &record, &worktree).await
}

/// Moves a task's branch to its recorded position, if it only has to follow.
pub(crate) async fn settle_branch(
    context: &RunContext,
    task: &TaskId,
    branch: String,
    tip: Oid,
) -> Result<(), CoordinatorError> {
    let (short, to) = (branch.clone(), tip.clone());
    let own = context.layout.worktree(&context.run, task);
    let elsewhere = context.git(move |repo| {
        let name = format!("refs/heads/{short}");
        let Some(found) = repo.read_ref(&name)?.filter(|found| *found != to) else { return Ok(None) };
        if repo.contains(&to, &found)? {
            repo.advance(&name, Some(&found), &to)?;
            return Ok(None);
        }
        // The worker keeps the files of the task's own worktree.
        let own = own.canonicalize().unwrap_or(own);
        Ok(Some((found, repo.landing().checkout_of(&short)?.filter(|checkout| *checkout != own))))
    });
    let Some((found, checkout)) = elsewhere.await? else { return Ok(()) };
    let (run, expected, found) = (context.run.clone(), tip.to_string(), found.to_string());
    Err(CoordinatorError::BranchMoved { run, branch, expected, found, checkout })
}

fn worktree_spec(context: &RunContext, task: &TaskId, base: Oid) -> WorktreeSpec {
    WorktreeSpec {
        path: context.layout.worktree(&context.run, task),
        branch: Some(context.run.task_branch(task)),
        base,
        lock_reason: format!("orchestrate {} pid {}", context.run, std::process::id()),
    }
}
