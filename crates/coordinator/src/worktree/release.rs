//! Removes the worktree of merged work while its run goes on, so that a run occupies only what its
//! agents still need.
//!
//! Only what is stored elsewhere goes: a worktree with files of a person's, or with ignored ones
//! that nothing can make again, stays until the run is cleaned. If the work is rejected, the next
//! worker creates the worktree again.

use orchestrate_checks::caches;
use orchestrate_core::{Event, TaskId};
use orchestrate_git::{Removed, Repo};
use orchestrate_landing::StoredWorktree;

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// Removes the worktree of a task whose work is merged, unless it has something that is stored
/// nowhere else.
pub(crate) async fn release(context: &RunContext, task: TaskId) -> Result<(), CoordinatorError> {
    let record = context.task(&task)?;
    let (layout, run) = (context.host.site.layout.clone(), context.run.clone());
    let (path, trash) = (layout.worktree(&run, &task), layout.trash());
    if !path.exists() && !record.is_prepared() {
        return Ok(());
    }
    let moved = context.git(move |repo| {
        if !path.exists() {
            return repo.worktrees().discard(&path, &trash).map(Some);
        }
        let stored = StoredWorktree::open(repo, &path)?;
        if !stored.ignored(repo)?.is_empty() {
            return Ok(None);
        }
        stored.remove(repo, &run, &record, &trash).map(Some)
    });
    let removed: Removed = match moved.await {
        Ok(Some(removed)) => removed,
        Ok(None) => return Ok(()),
        Err(error) if error.is_kill() => return Err(error),
        // What cannot be removed stays until the run is cleaned, which says why.
        Err(error) => {
            tracing::info!(%task, %error, "the worktree of merged work stays");
            return Ok(());
        }
    };
    context
        .record(vec![Event::WorktreeRemoved { task: task.clone() }])
        .await?;
    let path = context.host.site.layout.worktree(&context.run, &task);
    let delete = move |_: &Repo| {
        caches::forget(&path);
        removed.delete()
    };
    if let Err(error) = context.git(delete).await {
        tracing::warn!(%task, %error, "the files of a removed worktree are still in the trash");
    }
    Ok(())
}
