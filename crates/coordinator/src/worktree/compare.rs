//! Compares a task's work with what it was built on.

use orchestrate_core::event::Event;
use orchestrate_core::git_path::text;
use orchestrate_core::review::ChangedFile;
use orchestrate_core::{ChangedPath, ComparedWork, Oid, RunState, TaskRecord, WorkCompared};
use orchestrate_git::{ChangeStatus, FileChange, GitError, Repo};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// Records which files a commit with a task's work changes, unless that is recorded already.
pub(crate) async fn record_changes(
    context: &RunContext,
    record: &TaskRecord,
    work: Oid,
) -> Result<(), CoordinatorError> {
    let (state, compared) = (context.state(), record.clone());
    let (tree, files) = context
        .git(move |repo| {
            let base = base_of(repo, &state, &compared, &work)?;
            Ok((repo.tree_of(&work)?, repo.store().diff(&base, &work)?))
        })
        .await?;
    if record.compared().is_some_and(|known| known.tree == tree) {
        return Ok(());
    }
    let changed = |file: &FileChange| ChangedPath { status: file.status.letter(), path: text(&file.path) };
    let work = ComparedWork::new(tree, files.iter().map(changed).collect());
    context.record(vec![Event::WorkCompared(WorkCompared { task: record.task.id.clone(), work })]).await
}

/// Returns a change as it is listed.
pub(crate) fn changed_file(change: FileChange) -> ChangedFile {
    ChangedFile {
        path: text(&change.path),
        old_path: change.old_path.map(|path| text(&path)),
        added: change.added,
        removed: change.removed,
        mode_changed: change.mode_changed,
        is_new: change.status == ChangeStatus::Added,
    }
}

/// Returns the commit that a task's own work begins at: what it was built on, or the newer result that it has taken
/// over since.
pub(crate) fn base_of(repo: &Repo, state: &RunState, record: &TaskRecord, work: &Oid) -> Result<Oid, GitError> {
    let base = record.base().unwrap_or(&state.base).clone();
    match repo.merge_base(&state.integration, work)? {
        Some(shared) if shared != *work && repo.contains(&shared, &base)? => Ok(shared),
        _ => Ok(base),
    }
}
