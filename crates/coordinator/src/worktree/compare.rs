//! Compares a task's work with what it was built on.

use std::sync::Arc;

use orchestrate_core::event::Event;
use orchestrate_core::text::git_path::text;
use orchestrate_core::{ChangedPath, ComparedWork, Oid, TaskRecord, WorkCompared};
use orchestrate_git::FileChange;
use orchestrate_landing::{base_of, changes_between};

use crate::error::CoordinatorError;
use crate::link::requests::ReadWorkSpan;
use crate::link::worker_link::WorkerLink;
use crate::run::machine::host::Host;
use crate::worktree::workspace::Workspace;
use crate::worktree::worktrees;

impl Workspace {
    /// Records which files the work at the branch's tip changes.
    pub(crate) async fn compare(&self) -> Result<(), CoordinatorError> {
        let (record, tip) = self.record().await?;
        record_changes(&self.host, &self.link, &record, tip).await
    }

    /// Stores the worktree of a task, if it has one, and records what its work changes.
    pub(crate) async fn keep_and_compare(
        host: &Arc<Host>,
        link: &WorkerLink,
    ) -> Result<(), CoordinatorError> {
        let (record, mut kept) = (link.task().await?, None);
        if record.tip().is_some() && host.site.layout.worktree(&link.run, &link.agent).exists() {
            let worktree = worktrees::open(host, &link.run, &record).await?;
            kept = Self {
                host: Arc::clone(host),
                link: link.clone(),
                worktree,
            }
            .keep()
            .await?;
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
    let known = record.compared().map(|known| known.tree.clone());
    let compared = host.git(move |repo| {
        let tree = repo.tree_of(&work)?;
        if known.as_ref() == Some(&tree) {
            return Ok(None);
        }
        let base = base_of(repo, &span, &work)?;
        let files = repo.store().diff(&base, &work)?;
        let paths = files.iter().map(changed_path).collect();
        let changes = changes_between(repo, &base, &work, files)?;
        let (risks, weakened) = (changes.risks(), changes.weakened);
        Ok(Some(ComparedWork {
            risks,
            weakened,
            ..ComparedWork::new(tree, paths)
        }))
    });
    let Some(work) = compared.await? else {
        return Ok(());
    };
    link.record(vec![Event::WorkCompared(WorkCompared {
        task: record.task.id.clone(),
        work,
    })])
    .await
}

fn changed_path(file: &FileChange) -> ChangedPath {
    ChangedPath {
        status: file.status.letter(),
        path: text(&file.path),
    }
}
