//! A merge that a person started in a worktree, detected in git's index and its `MERGE_HEAD`.

use std::os::unix::ffi::OsStrExt;

use git2::{ErrorCode, Index};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::merge::merge_tree::Merge;
use crate::repo::repository::ours;
use crate::repo::worktree::Worktree;
use crate::store::conflicts::{Undecided, content, require_none, undecided};
use crate::worktree::worktrees::Worktrees;

/// Git's name for the commit that is being merged.
const MERGE_HEAD: &str = "MERGE_HEAD";

impl Worktrees<'_> {
    /// Checks that no merge that a person started in a worktree has an undecided conflict.
    ///
    /// # Errors
    /// [`GitError::UnfinishedMerge`] with the undecided files.
    pub fn require_finished(&self, worktree: &Worktree) -> Result<(), GitError> {
        let place = worktree.admin_dir().join("index");
        let index =
            Index::open(&place).map_err(GitError::library(format!("read {}", place.display())))?;
        let mut files = undecided(worktree, &index)?;
        files.extend(self.marked(worktree)?);
        require_none(worktree, files)
    }

    /// Returns the files that were in conflict in a merge in progress and still have its markers,
    /// even if they were marked as resolved in git's index.
    fn marked(&self, worktree: &Worktree) -> Result<Undecided, GitError> {
        let mut marked = Undecided::new();
        let Some(other) = self.merged_into(worktree)? else {
            return Ok(marked);
        };
        let head = self.head(worktree)?;
        let Merge::Conflict { files, .. } = self.repo.merging().merge(&head, &other)? else {
            return Ok(marked);
        };
        for path in files.into_iter().map(|file| file.path) {
            if let Some(bytes) = content(worktree, path.as_os_str().as_bytes())?
                && let Some(line) =
                    self.repo
                        .merging()
                        .new_marker(&bytes, &path, [&head, &other])?
            {
                marked.insert(path, Some(line));
            }
        }
        Ok(marked)
    }

    /// Returns the commit that is being merged into a worktree, if there is one.
    fn merged_into(&self, worktree: &Worktree) -> Result<Option<Oid>, GitError> {
        let admin_dir = worktree.admin_dir();
        // Almost no worktree has one.
        if !admin_dir.join(MERGE_HEAD).exists() {
            return Ok(None);
        }
        match self.repo.open_git_dir(admin_dir)?.refname_to_id(MERGE_HEAD) {
            Ok(commit) => Ok(Some(ours(commit))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(GitError::library("read which merge is in progress")(error)),
        }
    }
}
