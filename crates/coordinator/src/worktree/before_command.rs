//! The worktree's files before the newest command, so that one which is ended in the middle can be
//! undone.
//!
//! They are held by a ref of the agent's own, which the next command replaces; a worktree without
//! changes is its branch's tip.

use std::sync::Arc;

use orchestrate_core::Oid;
use orchestrate_git::CommitSpec;
use orchestrate_git::own_refs::BEFORE;
use orchestrate_tools::{GitChange, ServiceError, undo_advice};

use crate::error::CoordinatorError;
use crate::worktree::git_tools::status::listed;
use crate::worktree::workspace::Workspace;

impl Workspace {
    /// Stores the worktree's files as they are, and returns the commit that holds them.
    pub(crate) async fn keep_before(&self) -> Result<Oid, ServiceError> {
        let (_, tip) = self.record().await?;
        let spec = self
            .beside(
                tip.clone(),
                vec![tip.clone()],
                "Before a command".to_owned(),
            )
            .await?;
        let (worktree, own) = (Arc::clone(&self.worktree), self.own_refs());
        let kept = self.host.git(move |repo| {
            let tree = repo.store().current_tree(&worktree)?;
            if tree == repo.tree_of(&tip)? {
                own.forget(repo, &[BEFORE])?;
                return Ok(tip);
            }
            if let Some(before) = own
                .current(repo, BEFORE, &tip)?
                .filter(|before| before.tree == tree)
            {
                return Ok(before.id);
            }
            let commit = repo.commit(&CommitSpec { tree, ..spec })?;
            own.set(repo, BEFORE, &commit)?;
            Ok(commit)
        });
        Ok(kept.await?)
    }

    /// Returns what differs between a commit and the worktree's files.
    pub(crate) async fn changes_since(&self, commit: &Oid) -> Result<Vec<GitChange>, ServiceError> {
        let (worktree, commit) = (Arc::clone(&self.worktree), commit.clone());
        let changes = self.host.git(move |repo| {
            let current = repo.store().current_tree(&worktree)?;
            repo.store().diff(&commit, &current)
        });
        Ok(listed(&changes.await?))
    }

    /// Returns how to undo what the newest command has changed, if it changed anything; for one
    /// whose end was lost.
    pub(crate) async fn undo_of_command(&self) -> Result<Option<String>, CoordinatorError> {
        let (_, tip) = self.record().await?;
        let (own, of_tip) = (self.own_refs(), tip.clone());
        let before = self
            .host
            .git(move |repo| own.current(repo, BEFORE, &of_tip))
            .await?;
        let before = before.map_or(tip, |before| before.id);
        // What git cannot store cannot be compared either; the agent is told of it when it commits.
        let changes = self.changes_since(&before).await.unwrap_or_default();
        Ok((!changes.is_empty()).then(|| undo_advice(&before, &changes)))
    }
}
