//! What an agent sees of its worktree and its branch.

use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::text::git_path::{shown_path, text};
use orchestrate_core::{LeftAside, Oid, TaskRecord};
use orchestrate_git::own_refs::{MERGING, SELECTED};
use orchestrate_git::{CommitInfo, FileChange};
use orchestrate_tools::{GitChange, GitCommit, GitStatus, ShownDiff, ShowsPath};

use crate::error::CoordinatorError;
use crate::worktree::git_tools::commit::author;
use crate::worktree::workspace::Workspace;

impl Workspace {
    /// Returns the branch's tip and its tree.
    pub(crate) async fn tip(&self) -> Result<(Oid, Oid), CoordinatorError> {
        let (_, tip) = self.record().await?;
        let commit = tip.clone();
        Ok((tip, self.host.git(move |repo| repo.tree_of(&commit)).await?))
    }

    /// Reports whether git ignores a file of the worktree.
    pub(crate) async fn ignores(&self, file: PathBuf) -> Result<bool, CoordinatorError> {
        let worktree = Arc::clone(&self.worktree);
        self.host
            .git(move |repo| repo.worktrees().ignores(&worktree, &file))
            .await
    }

    /// Lists the files of the worktree that no commit of it will contain, such as ignored files.
    pub(crate) async fn uncommitted(&self) -> Result<Vec<PathBuf>, CoordinatorError> {
        let worktree = Arc::clone(&self.worktree);
        self.host
            .git(move |repo| repo.worktrees().uncommitted(&worktree))
            .await
    }

    /// Lists the caches and build outputs of the worktree.
    pub(crate) async fn scratch(&self) -> Result<Vec<PathBuf>, CoordinatorError> {
        let worktree = Arc::clone(&self.worktree);
        self.host
            .git(move |repo| repo.worktrees().scratch(&worktree))
            .await
    }

    /// Reports whether the worktree's files differ from those of a commit.
    pub(super) async fn differs_from(&self, commit: &Oid) -> Result<bool, CoordinatorError> {
        let (worktree, commit) = (Arc::clone(&self.worktree), commit.clone());
        self.host
            .git(move |repo| Ok(repo.store().current_tree(&worktree)? != repo.tree_of(&commit)?))
            .await
    }

    /// Compares the worktree with the branch's tip.
    pub(crate) async fn status(&self) -> Result<GitStatus, CoordinatorError> {
        let git = self.sync_git().await?;
        let (worktree, (record, tip)) = (Arc::clone(&self.worktree), self.record().await?);
        let (own, head) = (self.own_refs(), git.head.clone());
        let found = self.host.git(move |repo| {
            let selected = match own.current(repo, SELECTED, &tip)? {
                Some(selected) => repo.store().diff(&head, &selected.tree)?,
                None => Vec::new(),
            };
            let merging = own
                .current(repo, MERGING, &tip)?
                .and_then(|merge| merge.parents.into_iter().nth(1));
            let current = repo.store().current_tree(&worktree)?;
            Ok((repo.store().diff(&head, &current)?, selected, merging))
        });
        let (changes, selected, merging) = found.await?;
        let (changes, selected) = (listed(&changes), listed(&selected));
        Ok(GitStatus {
            branch: branch_name(git.branch, &record),
            head: Some(git.head),
            changes,
            selected,
            merging: merging.or(git.merging),
        })
    }

    /// Returns the diff from the tip to the worktree, or to what the next commit takes, as far as
    /// it may be shown.
    pub(crate) async fn diff(
        &self,
        staged: bool,
        shows: ShowsPath,
    ) -> Result<ShownDiff, CoordinatorError> {
        let head = self.sync_git().await?.head;
        let (worktree, (_, tip)) = (Arc::clone(&self.worktree), self.record().await?);
        let own = self.own_refs();
        let text = self.host.git(move |repo| {
            let selected = if staged {
                own.current(repo, SELECTED, &tip)?
            } else {
                None
            };
            let tree = match selected {
                Some(selected) => selected.tree,
                None => repo.store().current_tree(&worktree)?,
            };
            // Both paths of a renamed file count.
            let changed = repo.store().changed_paths(&head, &tree)?;
            let (may_show, withheld): (Vec<PathBuf>, Vec<PathBuf>) =
                changed.into_iter().partition(|path| shows(&text(path)));
            let text = match (may_show.is_empty(), withheld.is_empty()) {
                (_, true) => repo.store().diff_text(&head, &tree)?,
                (true, false) => String::new(),
                (false, false) => repo.store().diff_text_of(&head, &tree, &may_show)?,
            };
            Ok(ShownDiff {
                text,
                withheld: withheld.iter().map(|path| shown_path(path)).collect(),
            })
        });
        text.await
    }

    /// Returns the newest commits of the branch, newest first.
    pub(crate) async fn log(&self, limit: usize) -> Result<Vec<GitCommit>, CoordinatorError> {
        let head = self.sync_git().await?.head;
        let commits = self
            .host
            .git(move |repo| repo.store().log(&head, limit))
            .await?;
        let commit = |found: CommitInfo| GitCommit {
            author: author(&found.author),
            id: found.id,
            message: found.message,
            time: found.time_unix,
            left_out: Vec::new(),
            aside: LeftAside::default(),
        };
        Ok(commits.into_iter().map(commit).collect())
    }
}

/// Returns the name of the branch on which an agent is, as tools show it.
pub(super) fn branch_name(typed: Option<String>, record: &TaskRecord) -> String {
    match typed {
        Some(name) => name,
        None => record.branch().unwrap_or_default().to_owned(),
    }
}

/// Returns changes as tools show them.
pub(crate) fn listed(changes: &[FileChange]) -> Vec<GitChange> {
    changes.iter().map(git_change).collect()
}

fn git_change(change: &FileChange) -> GitChange {
    GitChange {
        status: change.status.letter(),
        path: text(&change.path),
    }
}
