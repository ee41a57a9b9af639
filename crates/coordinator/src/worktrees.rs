//! The worktrees of a run: made or taken over, and kept before anything could lose them.

use std::sync::Arc;

use orchestrate_core::event::{Event, FailureCause};
use orchestrate_core::{Oid, TaskId, TaskRecord};
use orchestrate_git::{Worktree, WorktreeSpec};

use crate::committing;
use crate::error::CoordinatorError;
use crate::run_context::RunContext;

/// Opens the worktree of a task that has been spawned; a directory that was deleted by hand is made again.
pub(crate) async fn open(context: &RunContext, record: &TaskRecord) -> Result<Arc<Worktree>, CoordinatorError> {
    let task = record.task.id.clone();
    let unknown = || CoordinatorError::UnknownTask { run: context.run.clone(), task: task.clone() };
    let spec = worktree_spec(context, &task, record.tip.clone().ok_or_else(unknown)?);
    Ok(Arc::new(context.git(move |repo| repo.add_worktree(&spec)).await?))
}

/// Keeps what a task's worktree holds, if it has one.
pub(crate) async fn keep(context: &RunContext, task: &TaskId) -> Result<(), CoordinatorError> {
    let record = context.task(task)?;
    if record.tip.is_none() || !context.layout.worktree(&context.run, task).exists() {
        return Ok(());
    }
    let worktree = open(context, &record).await?;
    committing::keep_worktree(context, &record, &worktree).await
}

/// Ends a task without success; what its worktree holds is kept first.
pub(crate) async fn fail(
    context: &RunContext,
    task: &TaskId,
    cause: FailureCause,
    message: String,
) -> Result<(), CoordinatorError> {
    if let Err(error) = keep(context, task).await {
        // The worktree itself is never removed without a snapshot, so nothing is lost; the failure still stands.
        tracing::warn!(%task, %error, "could not snapshot the worktree of a task that failed");
    }
    let record = context.task(task)?;
    if record.state.is_settled() {
        return Ok(());
    }
    // Whoever was denied and could not ask anybody fails for that reason, unless a limit ended it.
    let limit =
        matches!(cause, FailureCause::Turns | FailureCause::Budget | FailureCause::Timeout | FailureCause::Context);
    let denied = record.denied && !context.state().settings.ask_parks && !limit;
    let cause = if denied { FailureCause::Denied } else { cause };
    context.record(vec![Event::TaskFailed { task: task.clone(), cause, message }]).await
}

fn worktree_spec(context: &RunContext, task: &TaskId, base: Oid) -> WorktreeSpec {
    WorktreeSpec {
        path: context.layout.worktree(&context.run, task),
        branch: Some(context.run.task_branch(task)),
        base,
        lock_reason: format!("orchestrate {} pid {}", context.run, std::process::id()),
    }
}
