//! The commits that an agent has made with its own git: what becomes of them and of their messages.
//!
//! What counts is the worktree. So a commit of ours takes its files, and has the messages of the
//! agent's own in its body; these stay held by refs of the task. With the setting `keep_commits`,
//! ours is above theirs, which are made again: with their files and messages, and as every commit
//! of the run otherwise.

use std::sync::Arc;

use orchestrate_core::policy::Policy;
use orchestrate_core::text::cut;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{Oid, TaskRecord};
use orchestrate_git::{CommitInfo, CommitSpec};
use orchestrate_tools::ServiceError;

use crate::error::CoordinatorError;
use crate::worktree::git_tools::commit::{NewTip, keep_commit};
use crate::worktree::workspace::Workspace;

/// How many commits are looked at.
const MOST_COMMITS: usize = 200;
/// How much of one message is taken over.
const MESSAGE_BYTES: usize = 4_000;
/// How much is taken over of all messages together.
const MESSAGES_BYTES: usize = 32_000;

impl Workspace {
    /// Returns the commits between the branch's tip and the one on which the agent is, oldest
    /// first.
    pub(super) async fn own_commits(
        &self,
        tip: &Oid,
        head: &Oid,
    ) -> Result<Vec<CommitInfo>, CoordinatorError> {
        if tip == head {
            return Ok(Vec::new());
        }
        let (tip, head) = (tip.clone(), head.clone());
        self.host
            .git(move |repo| repo.store().newest_beyond(&tip, &head, MOST_COMMITS))
            .await
    }

    /// Returns a message with those of commits below it, without the run's secrets.
    pub(super) fn with_messages(&self, message: &str, commits: &[CommitInfo]) -> String {
        let mut text = message.trim_end().to_owned();
        for commit in commits {
            let own = self.host.site.redactor.text(commit.message.trim());
            let own = cut(&own, MESSAGE_BYTES);
            if !own.is_empty() && text.len() + own.len() <= MESSAGES_BYTES {
                text.push_str(if text.is_empty() { "" } else { "\n\n" });
                text.push_str(&own);
            }
        }
        text
    }

    /// Makes the agent's own commits ones of ours, one after another on the branch's tip, if they
    /// are to stay commits; returns the newest. They do not stay if one of them has what no commit
    /// of ours may have: a file that stays out of commits, or one that configures agents.
    pub(super) async fn keep_own_commits(
        &self,
        record: &TaskRecord,
        commits: &[CommitInfo],
        policy: &Policy,
    ) -> Result<Option<Oid>, CoordinatorError> {
        let Some(tip) = record.tip().cloned() else {
            return Ok(None);
        };
        let continues = commits
            .first()
            .is_some_and(|first| first.parents.first() == Some(&tip));
        if !self.host.keeps_commits || !continues {
            return Ok(None);
        }
        for commit in commits {
            if let Some(path) = self.unkeepable(&tip, &commit.tree, policy).await? {
                tracing::warn!(
                    task = %self.link.agent,
                    "the agent's own commits do not stay commits, since `{path}` stays out of them"
                );
                return Ok(None);
            }
        }
        let mut newest = tip;
        for commit in commits {
            let message = self.with_messages("", std::slice::from_ref(commit));
            let mut spec = self
                .beside(commit.tree.clone(), vec![newest], message)
                .await?;
            spec.time_unix = commit.time_unix;
            let name = format!("{}/own", record.task.id.branch_component());
            newest = keep_commit(&self.host, &self.link.run, spec, name).await?;
        }
        Ok(Some(newest))
    }

    /// Returns a file of a tree that no commit of ours may have, if it has one.
    async fn unkeepable(
        &self,
        tip: &Oid,
        tree: &Oid,
        policy: &Policy,
    ) -> Result<Option<String>, CoordinatorError> {
        let (worktree, from, to) = (Arc::clone(&self.worktree), tip.clone(), tree.clone());
        let found = self.host.git(move |repo| {
            let changed = repo.store().changed_paths(&from, &to)?;
            let mut kept_out = repo.store().kept_out(&from, &to)?;
            for path in &changed {
                let is_new =
                    repo.store().has_path(&to, path)? && !repo.store().has_path(&from, path)?;
                if is_new && repo.worktrees().ignores(&worktree, path)? {
                    kept_out.push(path.clone());
                }
            }
            Ok((kept_out, changed))
        });
        let (kept_out, changed) = found.await?;
        let mut configuring = changed
            .iter()
            .filter(|path| policy.protects(&path.to_string_lossy()));
        let path = kept_out.first().or_else(|| configuring.next());
        Ok(path.map(|path| shown_path(path)))
    }

    /// Reports whether a commit has the files and the parents of one that is to be made above it.
    pub(super) async fn is_whole(
        &self,
        commit: &Oid,
        spec: &CommitSpec,
    ) -> Result<bool, CoordinatorError> {
        let (commit, wanted) = (commit.clone(), spec.tree.clone());
        let tree = self.host.git(move |repo| repo.tree_of(&commit)).await?;
        Ok(spec.parents.len() == 1 && tree == wanted)
    }

    /// Makes the agent's own commits one of ours, before something is merged with them.
    pub(super) async fn commit_own_commits(&self, policy: &Policy) -> Result<(), ServiceError> {
        let head = self.sync_git().await?.head;
        let (_, tip) = self.record().await?;
        if head == tip {
            return Ok(());
        }
        let (from, to) = (tip, head);
        let found = self.host.git(move |repo| {
            let is_clean = repo.store().kept_out(&from, &to)?.is_empty();
            Ok((is_clean, repo.tree_of(&to)?))
        });
        let (is_clean, tree) = found.await?;
        let message = format!("Work of {} so far", self.link.agent);
        self.commit_as(NewTip {
            message: &message,
            policy,
            selected: Some(&tree).filter(|_| is_clean),
            merging: None,
            above: None,
        })
        .await?;
        self.keep().await?;
        Ok(())
    }
}
