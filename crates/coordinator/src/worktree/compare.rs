//! Compares a task's work with what it was built on.

use std::sync::Arc;

use orchestrate_core::event::Event;
use orchestrate_core::git_path::text;
use orchestrate_core::review::ChangedFile;
use orchestrate_core::{ChangedPath, ComparedWork, Oid, TaskRecord, WorkCompared};
use orchestrate_git::{ChangeStatus, FileChange, GitError, Repo};

use crate::error::CoordinatorError;
use crate::link::requests::ReadWorkSpan;
use crate::link::worker_link::WorkerLink;
use crate::run::host::Host;
use crate::worktree::run_branches::WorkSpan;
use crate::worktree::workspace::Workspace;
use crate::worktree::worktrees;

impl Workspace {
    /// Records which files the work at the branch's tip changes.
    pub(crate) async fn compare(&self) -> Result<(), CoordinatorError> {
        let (record, tip) = self.record().await?;
        record_changes(&self.host, &self.link, &record, tip).await
    }

    /// Stores the worktree of a task, if it has one, and records what its work changes.
    pub(crate) async fn keep_and_compare(host: &Arc<Host>, link: &WorkerLink) -> Result<(), CoordinatorError> {
        let (record, mut kept) = (link.task().await?, None);
        if record.tip().is_some() && host.layout.worktree(&link.run, &link.agent).exists() {
            let worktree = worktrees::open(host, &link.run, &record).await?;
            kept = Self { host: Arc::clone(host), link: link.clone(), worktree }.keep().await?;
        }
        let record = link.task().await?;
        match kept.or_else(|| record.tip().cloned()) {
            Some(work) if !record.is_command() => record_changes(host, link, &record, work).await,
            _ => Ok(()),
        }
    }
}

/// Records which files a commit with a task's work changes, unless that is recorded already.
async fn record_changes(
    host: &Host,
    link: &WorkerLink,
    record: &TaskRecord,
    work: Oid,
) -> Result<(), CoordinatorError> {
    let span = link.ask(ReadWorkSpan {}).await?;
    let (tree, files) = host
        .git(move |repo| {
            let base = base_of(repo, &span, &work)?;
            Ok((repo.tree_of(&work)?, repo.store().diff(&base, &work)?))
        })
        .await?;
    if record.compared().is_some_and(|known| known.tree == tree) {
        return Ok(());
    }
    let changed = |file: &FileChange| ChangedPath { status: file.status.letter(), path: text(&file.path) };
    let work = ComparedWork::new(tree, files.iter().map(changed).collect());
    link.record(vec![Event::WorkCompared(WorkCompared { task: record.task.id.clone(), work })]).await
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

/// Returns the commit that a task's own work begins at: what it was built on, or what it has taken over since of the
/// branch that it is merged into.
pub(crate) fn base_of(repo: &Repo, span: &WorkSpan, work: &Oid) -> Result<Oid, GitError> {
    let base = span.base.clone();
    match repo.merge_base(&span.target, work)? {
        Some(shared) if shared != *work && repo.contains(&shared, &base)? => Ok(shared),
        _ => Ok(base),
    }
}
