//! What an agent selects for its next commit: the contents of some files, as they were when it
//! selected them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::Oid;
use orchestrate_core::policy::Policy;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::text::invisible::shown;
use orchestrate_git::own_refs::SELECTED;
use orchestrate_tools::{GitChange, GitCommit, ServiceError};

use crate::worktree::git_tools::checkout::unknown_path;
use crate::worktree::git_tools::commit::NewTip;
use crate::worktree::git_tools::status::listed;
use crate::worktree::workspace::Workspace;

/// What the next commit takes beside the worktree's files, or instead of them.
struct Next {
    /// The tree that is selected.
    selected: Option<Oid>,
    /// The commit that is being merged.
    merging: Option<Oid>,
    /// The commit on which the agent is.
    head: Oid,
    /// Whether it completes a merge that the run has returned.
    is_repair: bool,
}

impl Workspace {
    /// Selects files and folders, beside what is selected already, and returns everything that is.
    pub(crate) async fn add(&self, files: &[String]) -> Result<Vec<GitChange>, ServiceError> {
        // What is selected is stored as it is then.
        self.keep_changed_boxes().await?;
        let head = self.sync_git().await?.head;
        let (_, tip) = self.record().await?;
        let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let (worktree, own) = (Arc::clone(&self.worktree), self.own_refs());
        let spec = self
            .beside(
                tip.clone(),
                vec![tip.clone()],
                "Selected for the next commit".to_owned(),
            )
            .await?;
        let selected = self.host.git(move |repo| {
            let store = repo.store();
            let current = store.current_tree(&worktree)?;
            if let Some(unknown) = unknown_path(repo, [&current, &head], &paths)? {
                return Ok(Err(unknown));
            }
            let before = match own.current(repo, SELECTED, &tip)? {
                Some(before) => before.tree,
                None => repo.tree_of(&head)?,
            };
            let tree = store.overlay(&before, &current, &paths)?;
            let changes = store.diff(&head, &tree)?;
            if changes.is_empty() {
                own.forget(repo, &[SELECTED])?;
            } else {
                own.set(
                    repo,
                    SELECTED,
                    &repo.commit(&orchestrate_git::CommitSpec { tree, ..spec })?,
                )?;
            }
            Ok(Ok(changes))
        });
        Ok(listed(&selected.await?.map_err(|path| unknown(&path))?))
    }

    /// Requires that files and folders could be selected.
    pub(super) async fn require_known(&self, files: &[String]) -> Result<(), ServiceError> {
        let head = self.sync_git().await?.head;
        let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let worktree = Arc::clone(&self.worktree);
        let found = self.host.git(move |repo| {
            let current = repo.store().current_tree(&worktree)?;
            unknown_path(repo, [&current, &head], &paths)
        });
        found.await?.map_or(Ok(()), |path| Err(unknown(&path)))
    }

    /// Commits what is selected, or the worktree if nothing is or a merge is to be completed.
    pub(crate) async fn commit_selected(
        &self,
        message: &str,
        policy: &Policy,
    ) -> Result<GitCommit, ServiceError> {
        let Next {
            selected,
            merging,
            head,
            is_repair,
        } = self.next_commit().await?;
        let is_more = selected.is_some() || merging.is_some() || is_repair;
        if !is_more && !self.differs_from(&head).await? {
            return Err(nothing());
        }
        let new = NewTip {
            message,
            policy,
            selected: selected.as_ref(),
            merging: merging.as_ref(),
            above: None,
        };
        let made = self.commit_as(new).await?;
        if selected.is_some() {
            // The worktree's index shows what is left.
            self.keep().await?;
        }
        made.ok_or_else(nothing)
    }

    /// Requires that there is something to commit.
    pub(super) async fn require_commit(&self) -> Result<(), ServiceError> {
        let Next {
            selected,
            merging,
            head,
            is_repair,
        } = self.next_commit().await?;
        let is_more = selected.is_some() || merging.is_some() || is_repair;
        if is_more || self.differs_from(&head).await? {
            Ok(())
        } else {
            Err(nothing())
        }
    }

    /// Returns what the next commit takes.
    async fn next_commit(&self) -> Result<Next, ServiceError> {
        let head = self.sync_git().await?.head;
        let (record, tip) = self.record().await?;
        let left = self.left_of_merge().await?;
        if !left.is_empty() {
            let files: Vec<String> = left.marked.into_iter().chain(left.untouched).collect();
            let reason = format!(
                "the merge in progress is not resolved in {}; see git_status",
                files.join(", ")
            );
            return Err(ServiceError::Invalid(reason));
        }
        let (merging, is_repair) = (self.merging(&tip).await?, record.onto().is_some());
        let selected = match &merging {
            None if !is_repair => self.selected(&tip).await?,
            _ => None,
        };
        Ok(Next {
            selected,
            merging,
            head,
            is_repair,
        })
    }

    /// Returns the tree that is selected.
    async fn selected(&self, tip: &Oid) -> Result<Option<Oid>, ServiceError> {
        let (own, tip) = (self.own_refs(), tip.clone());
        let found = self.host.git(move |repo| {
            let Some(selected) = own.current(repo, SELECTED, &tip)? else {
                return Ok(None);
            };
            let loses_most = repo.store().loses_most(&tip, &selected.tree)?;
            let kept_out = repo.store().kept_out(&tip, &selected.tree)?;
            Ok(Some((selected.tree, loses_most, kept_out)))
        });
        match found.await? {
            Some((_, _, kept_out)) if !kept_out.is_empty() => {
                let names: Vec<String> = kept_out.iter().map(|path| shown_path(path)).collect();
                Err(ServiceError::Invalid(format!(
                    "what is staged has files that stay out of commits: {}; unstage them",
                    names.join(", ")
                )))
            }
            Some((_, true, _)) => Err(ServiceError::Invalid(
                "what is selected deletes most of the files; select less, or finish and explain"
                    .to_owned(),
            )),
            found => Ok(found.map(|(tree, ..)| tree)),
        }
    }
}

/// Words that a path names nothing that can be selected.
fn unknown(path: &Path) -> ServiceError {
    let path = shown(&path.to_string_lossy());
    ServiceError::Invalid(format!(
        "`{path}` is neither in your worktree nor in your last commit, or git ignores it"
    ))
}

fn nothing() -> ServiceError {
    ServiceError::Invalid("nothing to commit: the worktree has no changes".to_owned())
}
