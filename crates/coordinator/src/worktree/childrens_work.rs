//! The work of an agent and that of its children in one branch: what is committed before a child
//! begins with it, or is merged into it, and the files afterwards.
//!
//! Work is merged while the agent has no worker, without touching the worktree. The next worker
//! brings the files before it does anything else; until then the state says which commit's files
//! the worktree has, so this can be repeated.

use std::sync::Arc;

use orchestrate_core::Oid;
use orchestrate_core::policy::Policy;
use orchestrate_git::Side;
use orchestrate_tools::ServiceError;

use crate::error::CoordinatorError;
use crate::worktree::attempt::Unresolved;
use crate::worktree::workspace::Workspace;

/// The name of the branch's tip while its files are written, which could be part of a ref.
const TIP: &str = "merged";

impl Workspace {
    /// Commits the worktree to the branch for a child that begins with it, and returns the branch's
    /// tip.
    pub(crate) async fn commit_for_child(&self, policy: &Policy) -> Result<Oid, ServiceError> {
        self.commit_so_far("a child begins with your work", policy)
            .await?;
        let (_, tip) = self.record().await?;
        Ok(tip)
    }

    /// Commits the worktree to the branch, so that the work of children is merged with all of it.
    pub(crate) async fn commit_before_merges(&self, policy: &Policy) -> Result<(), ServiceError> {
        self.commit_so_far("the work of your children is merged with yours", policy)
            .await
    }

    /// Commits the worktree to the branch. Fails with the reason for the agent if it cannot be
    /// stored, or has unresolved conflicts.
    async fn commit_so_far(&self, why: &str, policy: &Policy) -> Result<(), ServiceError> {
        let (record, _) = self.record().await?;
        let repair = match record.repair() {
            Some(repair) => self.unresolved(repair).await?,
            None => Unresolved::default(),
        };
        let merge = self.left_of_merge().await?;
        let left: Vec<String> = [repair, merge]
            .into_iter()
            .flat_map(|left| left.marked.into_iter().chain(left.untouched))
            .collect();
        if !left.is_empty() {
            return Err(ServiceError::Invalid(format!(
                "{why}; first resolve the conflicts in {}",
                left.join(", ")
            )));
        }
        self.commit(
            &format!("Work of {} so far, for its children", self.link.agent),
            policy,
        )
        .await?;
        Ok(())
    }

    /// Brings the files of what was merged into the branch since a commit into the worktree, which
    /// has the files of that commit. Fails if a file would be lost; no file of that name has
    /// changed then.
    pub(crate) async fn bring_merged(&self, from: Oid, to: Oid) -> Result<(), CoordinatorError> {
        let (worktree, anchor) = (Arc::clone(&self.worktree), self.own_refs().merged_tree());
        let brought = self.host.git(move |repo| {
            repo.worktrees()
                .require_nothing_lost(&worktree, &repo.tree_of(&to)?)?;
            repo.merging()
                .write_merge(
                    &worktree,
                    Side {
                        name: TIP,
                        commit: &to,
                    },
                    &from,
                    &anchor,
                )
                .map(drop)
        });
        brought.await?;
        // The index is at a tree that a ref holds, as after every snapshot.
        self.keep().await.map(drop)
    }

    /// Brings the same files into the worktree of an agent whose own are part of no result: what
    /// was merged takes the place of changes that it has made to the same files, which a snapshot
    /// keeps.
    pub(crate) async fn bring_merged_over(
        &self,
        from: Oid,
        to: Oid,
    ) -> Result<(), CoordinatorError> {
        self.keep().await?;
        let worktree = Arc::clone(&self.worktree);
        let brought = self.host.git(move |repo| {
            let store = repo.store();
            let merged = store.changed_paths(&from, &to)?;
            let wanted = store.overlay(&store.current_tree(&worktree)?, &to, &merged)?;
            repo.worktrees().exchange(&worktree, &wanted)
        });
        brought.await?;
        self.keep().await.map(drop)
    }
}
