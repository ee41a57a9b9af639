//! What an agent selects for its next commit: the contents of some files, as they were when it selected them.

use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::Oid;
use orchestrate_core::invisible::shown;
use orchestrate_core::policy::Policy;
use orchestrate_tools::{GitChange, GitCommit, ServiceError};

use crate::worktree::commit::NewTip;
use crate::worktree::own_refs::SELECTED;
use crate::worktree::status::listed;
use crate::worktree::workspace::Workspace;

impl Workspace {
    /// Selects files and folders, beside what is selected already, and returns everything that is.
    pub(crate) async fn add(&self, files: &[String]) -> Result<Vec<GitChange>, ServiceError> {
        let (_, tip) = self.record().await?;
        let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let (worktree, own) = (Arc::clone(&self.worktree), self.own_refs());
        let spec = self.beside(tip.clone(), vec![tip.clone()], "Selected for the next commit".to_owned()).await?;
        let selected = self.host.git(move |repo| {
            let store = repo.store();
            let current = store.current_tree(&worktree)?;
            for path in &paths {
                if !store.has_path(&current, path)? && !store.has_path(&tip, path)? {
                    return Ok(Err(path.clone()));
                }
            }
            let before = match own.current(repo, SELECTED, &tip)? {
                Some(before) => before.tree,
                None => repo.tree_of(&tip)?,
            };
            let tree = store.overlay(&before, &current, &paths)?;
            let changes = store.diff(&tip, &tree)?;
            if changes.is_empty() {
                own.forget(repo, &[SELECTED])?;
            } else {
                own.set(repo, SELECTED, &repo.commit(&orchestrate_git::CommitSpec { tree, ..spec })?)?;
            }
            Ok(Ok(changes))
        });
        let unknown = |path: PathBuf| {
            let path = shown(&path.to_string_lossy());
            ServiceError::Invalid(format!(
                "`{path}` is neither in your worktree nor in your last commit, or git ignores it"
            ))
        };
        Ok(listed(&selected.await?.map_err(unknown)?))
    }

    /// Commits what is selected, or the worktree if nothing is or a merge is to be completed.
    pub(crate) async fn commit_selected(&self, message: &str, policy: &Policy) -> Result<GitCommit, ServiceError> {
        let (record, tip) = self.record().await?;
        if let Some(left) = self.left_of_merge().await?.filter(|left| !left.is_empty()) {
            let files: Vec<String> = left.marked.into_iter().chain(left.untouched).collect();
            let reason = format!("the merge in progress is not resolved in {}; see git_status", files.join(", "));
            return Err(ServiceError::Invalid(reason));
        }
        let merging = self.merging(&tip).await?;
        let selected = match &merging {
            None if record.onto().is_none() => self.selected(&tip).await?,
            _ => None,
        };
        let new = NewTip { message, policy, selected: selected.as_ref(), merging: merging.as_ref() };
        let made = self.commit_as(new).await?;
        if selected.is_some() {
            // The worktree's index shows what is left.
            self.keep().await?;
        }
        let nothing = || "nothing to commit: the worktree has no changes".to_owned();
        made.ok_or_else(|| ServiceError::Invalid(nothing()))
    }

    /// Returns the tree that is selected.
    async fn selected(&self, tip: &Oid) -> Result<Option<Oid>, ServiceError> {
        let (own, tip) = (self.own_refs(), tip.clone());
        let found = self.host.git(move |repo| {
            let Some(selected) = own.current(repo, SELECTED, &tip)? else { return Ok(None) };
            let loses_most = repo.store().loses_most(&tip, &selected.tree)?;
            Ok(Some((selected.tree, loses_most)))
        });
        match found.await? {
            Some((_, true)) => Err(ServiceError::Invalid(
                "what is selected deletes most of the files; select less, or finish and explain".to_owned(),
            )),
            found => Ok(found.map(|(tree, _)| tree)),
        }
    }
}
