//! Ties worktrees to their repository again after both have moved.
//!
//! Git records the location of each worktree in its entry, and that of the entry in the worktree's
//! `.git` file.

use std::path::Path;

use crate::error::GitError;
use crate::error::lock_wait::Work;
use crate::files::openat;
use crate::repo::worktree::Pointers;
use crate::worktree::entries;
use crate::worktree::worktrees::Worktrees;

impl Worktrees<'_> {
    /// Prepares the worktrees below a folder for the move of that folder to `to`: their repository
    /// has moved already. Both paths are real ones. It can be repeated after an interruption, until
    /// the folder has moved.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn follow_move(&self, from: &Path, to: &Path) -> Result<(), GitError> {
        let _held = self.repo.lock(Work::Worktree)?;
        for entry in entries::all(self.repo.common_dir())? {
            let gitdir = entry.join("gitdir");
            let Ok(recorded) = std::fs::read(&gitdir) else {
                continue;
            };
            let recorded = openat::path_of(recorded.trim_ascii_end());
            let below = recorded
                .strip_prefix(from)
                .or_else(|_| recorded.strip_prefix(to));
            let Some(name) = below.ok().and_then(Path::parent) else {
                continue;
            };
            let (now, pointers) = (from.join(name), Pointers::new(&to.join(name), &entry));
            // A worktree that is gone keeps its entry, as it would at its old location.
            if std::fs::symlink_metadata(&now).is_ok_and(|found| found.is_dir()) {
                let dot_git = now.join(".git");
                orchestrate_files::replace(&dot_git, &pointers.dot_git)
                    .map_err(GitError::io("write", &dot_git))?;
            }
            orchestrate_files::replace(&gitdir, &pointers.gitdir)
                .map_err(GitError::io("write", &gitdir))?;
        }
        Ok(())
    }
}
