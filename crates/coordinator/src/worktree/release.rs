//! Removes the worktree of merged work while its run goes on, so that a run occupies only what its
//! agents still need.
//!
//! Only what is stored elsewhere goes: a worktree with files of a person's, or with ignored ones
//! that nothing can make again, stays until the run is cleaned. If the work is rejected, the next
//! worker creates the worktree again.

use orchestrate_checks::caches;
use orchestrate_core::{Event, Oid, RunId, TaskId, TaskRecord};
use orchestrate_git::own_refs::OwnRefs;
use orchestrate_git::{GitError, RefEntry, Removed, Repo};

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
        let worktree = repo.worktrees().open(&path)?;
        let kept = repo.worktrees().require_kept(&worktree)?;
        if !repo
            .worktrees()
            .uncommitted_beside(&worktree, &kept)?
            .is_empty()
        {
            return Ok(None);
        }
        hold_files(repo, &run, &record, kept.tree())?;
        repo.worktrees()
            .remove_kept(&worktree, kept, &trash)
            .map(Some)
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
        .record(vec![Event::WorktreeLost { task: task.clone() }])
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

/// Gives the files of a task's worktree, by their tree, a ref that stays if of all refs only those
/// hold them that go with the worktree.
pub(crate) fn hold_files(
    repo: &Repo,
    run: &RunId,
    record: &TaskRecord,
    files: &Oid,
) -> Result<(), GitError> {
    let holds = |target: &Oid| {
        // A damaged ref holds nothing.
        if !repo.has_object(target)? {
            return Ok::<_, GitError>(false);
        }
        let commit = repo.store().find_commit(target)?;
        Ok(commit.map_or(target == files, |commit| commit.tree == *files))
    };
    let going = OwnRefs::for_task(run, &record.task.id).disposable(repo, record.tip())?;
    let branch = record
        .branch()
        .map(|branch| repo.read_ref(&format!("refs/heads/{branch}")))
        .transpose()?;
    let kept = repo
        .kept(run)?
        .into_iter()
        .filter(|entry| !going.contains(entry))
        .map(|entry| entry.target);
    for target in branch.flatten().into_iter().chain(kept) {
        if holds(&target)? {
            return Ok(());
        }
    }
    for RefEntry { target, .. } in going {
        if holds(&target)? {
            let component = record.task.id.branch_component();
            return repo.keep(
                &format!("{}{component}/cleaned-{target}", run.keep_prefix()),
                &target,
            );
        }
    }
    // They are in the files of another run.
    Ok(())
}
