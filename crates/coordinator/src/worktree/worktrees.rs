//! The worktrees of a run: created or taken over, and stored before they could be lost.

use std::sync::Arc;

use orchestrate_checks::Layout;
use orchestrate_core::{Oid, RunId, TaskId, TaskRecord};
use orchestrate_git::{GitError, Repo, Worktree, WorktreeSpec};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::run::machine::host::Host;

/// Opens the worktree of a started task, recreating a directory that was deleted by hand.
pub(crate) async fn open(
    host: &Host,
    run: &RunId,
    record: &TaskRecord,
) -> Result<Arc<Worktree>, CoordinatorError> {
    let task = record.task.id.clone();
    let unknown = || CoordinatorError::UnknownTask {
        run: run.clone(),
        task: task.clone(),
    };
    let spec = worktree_spec(
        &host.site.layout,
        run,
        &task,
        record.tip().cloned().ok_or_else(unknown)?,
    );
    Ok(Arc::new(
        host.git(move |repo| repo.worktrees().add(&spec)).await?,
    ))
}

/// Recreates git's entry for a task's worktree if it was deleted: the files still exist, and are
/// kept.
pub(crate) async fn restore(
    host: &Host,
    run: &RunId,
    record: &TaskRecord,
) -> Result<(), CoordinatorError> {
    let Some(tip) = record.tip().cloned() else {
        return Ok(());
    };
    let spec = worktree_spec(&host.site.layout, run, &record.task.id, tip);
    let merged = record
        .repair()
        .is_some()
        .then(|| run.conflict_ref(&record.task.id));
    let restored = host.git(move |repo| {
        let merged = merged
            .map(|anchor| repo.read_ref(&anchor))
            .transpose()?
            .flatten();
        repo.worktrees()
            .restore_entry(&spec, merged.as_ref().unwrap_or(&spec.base))
    });
    restored.await
}

/// Reports whether a task's worktree is gone although it was prepared, so that its setup and merges
/// have to be repeated once it is recreated.
pub(crate) async fn is_lost(
    host: &Host,
    run: &RunId,
    record: &TaskRecord,
) -> Result<bool, CoordinatorError> {
    restore(host, run, record).await?;
    let path = host.site.layout.worktree(run, &record.task.id);
    let look = move |repo: &Repo| match repo.worktrees().open(&path) {
        Err(GitError::NoWorktree { .. }) => Ok(true),
        // Other problems are reported where the worktree is used.
        _ => Ok(false),
    };
    Ok(record.is_prepared() && host.git(look).await?)
}

/// Moves a task's branch to its recorded position, if it only has to follow. Commits of a person's
/// on top are no problem as long as they could become the task's work.
pub(crate) async fn settle_branch(
    context: &RunContext,
    task: &TaskId,
    branch: String,
    tip: Oid,
) -> Result<(), CoordinatorError> {
    let (short, to) = (branch.clone(), tip.clone());
    let may_be_ahead = context.state().require_adoptable(task).is_ok();
    let own = context.host.site.layout.worktree(&context.run, task);
    let elsewhere = context.git(move |repo| {
        let name = format!("refs/heads/{short}");
        let Some(found) = repo.read_ref(&name)?.filter(|found| *found != to) else {
            return Ok(None);
        };
        if repo.contains(&to, &found)? {
            repo.advance(&name, Some(&found), &to)?;
            return Ok(None);
        }
        if may_be_ahead && repo.contains(&found, &to)? {
            return Ok(None);
        }
        // The worker keeps the files of the task's own worktree.
        let own = own.canonicalize().unwrap_or(own);
        Ok(Some((
            found,
            repo.landing()
                .checkout_of(&short)?
                .filter(|checkout| *checkout != own),
        )))
    });
    let Some((found, checkout)) = elsewhere.await? else {
        return Ok(());
    };
    let (run, expected, found) = (context.run.clone(), tip.to_string(), found.to_string());
    Err(CoordinatorError::BranchMoved {
        run,
        branch,
        expected,
        found,
        checkout,
    })
}

fn worktree_spec(layout: &Layout, run: &RunId, task: &TaskId, base: Oid) -> WorktreeSpec {
    WorktreeSpec {
        path: layout.worktree(run, task),
        branch: Some(run.task_branch(task)),
        base,
        lock_reason: format!("orchestrate {run} pid {}", std::process::id()),
        times: Some(layout.source_times(run)),
    }
}
