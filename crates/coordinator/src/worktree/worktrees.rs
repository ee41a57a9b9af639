//! The worktrees of a run: created or taken over, and stored before they could be lost.

use std::sync::Arc;

use orchestrate_core::event::{Event, FailureCause};
use orchestrate_core::{Oid, RunState, TaskId, TaskRecord};
use orchestrate_git::{GitError, Repo, Worktree, WorktreeSpec};
use orchestrate_journal::Batch;

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::worktree::commit;

/// Opens the worktree of a started task, recreating a directory that was deleted by hand.
pub(crate) async fn open(context: &RunContext, record: &TaskRecord) -> Result<Arc<Worktree>, CoordinatorError> {
    let task = record.task.id.clone();
    let unknown = || CoordinatorError::UnknownTask { run: context.run.clone(), task: task.clone() };
    let spec = worktree_spec(context, &task, record.tip().cloned().ok_or_else(unknown)?);
    Ok(Arc::new(context.git(move |repo| repo.add_worktree(&spec)).await?))
}

/// Recreates git's entry for a task's worktree if it was deleted: the files still exist, and are kept.
pub(crate) async fn restore(context: &RunContext, record: &TaskRecord) -> Result<(), CoordinatorError> {
    let Some(tip) = record.tip().cloned() else { return Ok(()) };
    let spec = worktree_spec(context, &record.task.id, tip);
    let merged = record.repair().is_some().then(|| conflict_anchor(context, &record.task.id));
    let restored = context.git(move |repo| {
        let merged = merged.map(|anchor| repo.read_ref(&anchor)).transpose()?.flatten();
        repo.restore_entry(&spec, merged.as_ref().unwrap_or(&spec.base))
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
    let look = move |repo: &Repo| match repo.open_worktree(&path) {
        Err(GitError::NoWorktree { .. }) => Ok(true),
        // Other problems are reported where the worktree is used.
        _ => Ok(false),
    };
    if record.is_prepared() && context.git(look).await? {
        context.record(vec![Event::WorktreeLost { task }]).await?;
    }
    Ok(())
}

/// Stores the content of a task's worktree, if it has one.
pub(crate) async fn keep(context: &RunContext, task: &TaskId) -> Result<(), CoordinatorError> {
    let record = context.task(task)?;
    if record.tip().is_none() || !context.layout.worktree(&context.run, task).exists() {
        return Ok(());
    }
    let worktree = open(context, &record).await?;
    commit::keep_worktree(context, &record, &worktree).await
}

/// Fails a worker's task, unless its work has been handed over meanwhile.
pub(crate) async fn fail(
    context: &RunContext,
    task: &TaskId,
    cause: FailureCause,
    message: String,
) -> Result<(), CoordinatorError> {
    end(context, task, (cause, message), |_, record| record.state().is_workable()).await
}

/// Fails a task for which the run has no time left; no worker is active any more.
pub(crate) async fn time_out(context: &RunContext, task: &TaskId, message: String) -> Result<(), CoordinatorError> {
    end(context, task, (FailureCause::Timeout, message), RunState::can_go_on).await
}

/// Ends a task that may still fail; its worktree is stored first.
async fn end(
    context: &RunContext,
    task: &TaskId,
    (cause, message): (FailureCause, String),
    may_end: fn(&RunState, &TaskRecord) -> bool,
) -> Result<(), CoordinatorError> {
    if !may_end(&context.state(), &context.task(task)?) {
        return Ok(());
    }
    if let Err(error) = keep(context, task).await {
        // The worktree itself is never removed without a snapshot, so nothing is lost; the task still fails.
        tracing::warn!(%task, %error, "could not snapshot the worktree of a task that failed");
    }
    let task = task.clone();
    let failed = move |state: &RunState| {
        let record = state.task(&task).filter(|record| may_end(state, record));
        let cause = record.map(|record| if was_denied(state, record, cause) { FailureCause::Denied } else { cause });
        let fact = cause.map(|cause| Event::TaskFailed { task, cause, message });
        Batch::from(fact.into_iter().collect::<Vec<_>>())
    };
    context.decide(failed).await
}

/// Cancels tasks that have not ended and are not being merged at this moment.
pub(crate) async fn call_off(
    context: &RunContext,
    tasks: Vec<TaskId>,
    why: &'static str,
) -> Result<(), CoordinatorError> {
    let decided = move |state: &RunState| {
        let is_open = |task: &TaskId| state.task(task).is_some_and(|record| !record.state().is_settled());
        let open = tasks.into_iter().filter(|task| is_open(task) && state.merges.current() != Some(task));
        Batch::from(open.map(|task| Event::TaskCancelled { task, message: why.to_owned() }).collect::<Vec<_>>())
    };
    context.decide(decided).await
}

/// Reports whether a task fails because a permission was denied without asking, unless a limit ended it.
fn was_denied(state: &RunState, record: &TaskRecord, cause: FailureCause) -> bool {
    let limit =
        matches!(cause, FailureCause::Turns | FailureCause::Budget | FailureCause::Timeout | FailureCause::Context);
    record.was_denied() && !state.settings.ask_parks && !limit
}

fn worktree_spec(context: &RunContext, task: &TaskId, base: Oid) -> WorktreeSpec {
    WorktreeSpec {
        path: context.layout.worktree(&context.run, task),
        branch: Some(context.run.task_branch(task)),
        base,
        lock_reason: format!("orchestrate {} pid {}", context.run, std::process::id()),
    }
}
