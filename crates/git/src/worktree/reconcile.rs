//! Finds and removes what killed processes leave in the common directory.
//!
//! An entry with an empty `commondir` makes `worktree list`, `branch -D`, `fetch` and `gc` fail,
//! and `git worktree prune` does not repair it. Entries of ours are removed; others are reported,
//! never touched.

use std::path::{Path, PathBuf};

use orchestrate_files::if_there;

use crate::error::GitError;
use crate::error::lock_wait::Work;
use crate::program::scratch_repo;
use crate::worktree::entries;
use crate::worktree::worktrees::Worktrees;

/// The lock files of git and libgit2 for one worktree.
const WORKTREE_LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];
/// The folders with the refs of runs, one subfolder for each run.
const REF_FOLDERS: [&str; 3] = [
    "refs/heads/orchestrate",
    "refs/orchestrate/keep",
    "refs/orchestrate/attempts",
];

/// The result of [`Worktrees::reconcile`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Incomplete entries and stale lock files that were removed.
    pub removed: Vec<PathBuf>,
    /// Incomplete entries that are not ours. Git fails until the user removes them.
    pub foreign: Vec<PathBuf>,
}

impl Worktrees<'_> {
    /// Removes what killed processes of ours left: incomplete worktree entries, locks on our
    /// worktrees and refs, and scratch repositories for merging.
    ///
    /// `ours` decides what belongs to us. It is called with the reason with which a worktree is
    /// locked ([`crate::WorktreeSpec::lock_reason`]), and with `orchestrate <run>` for a lock on a
    /// ref of that run. No other process may be using what `ours` accepts.
    ///
    /// # Errors
    /// [`GitError::Refused`] if the temporary folder is not writable, or if the file system
    /// refuses.
    pub fn reconcile(&self, ours: &dyn Fn(&str) -> bool) -> Result<Reconciled, GitError> {
        self.repo.require_temporary_folder()?;
        scratch_repo::sweep()?;
        let held = self.repo.lock(Work::Reconciling)?;
        let mut found = Reconciled::default();
        for entry in entries::all(self.repo.common_dir())? {
            // Git writes the reason before any other file of an entry.
            let is_ours = std::fs::read_to_string(entry.join("locked"))
                .is_ok_and(|reason| ours(reason.trim_end()));
            match (is_ours, entries::is_whole(&entry)) {
                (true, true) => {
                    for name in WORKTREE_LOCKS {
                        remove(entry.join(name), &mut found.removed)?;
                    }
                }
                (true, false) => {
                    entries::drop_entry(&entry, &held)?;
                    found.removed.push(entry);
                }
                (false, true) => {}
                (false, false) => found.foreign.push(entry),
            }
        }
        for folder in REF_FOLDERS {
            for run in entries::list(&self.repo.common_dir().join(folder))? {
                let name = run.file_name().unwrap_or_default().to_string_lossy();
                if ours(&format!("orchestrate {name}")) {
                    remove_locks(&run, &mut found.removed)?;
                }
            }
        }
        Ok(found)
    }
}

impl Worktrees<'_> {
    /// Removes git's entries for worktrees of ours whose directories are gone; their branches stay.
    ///
    /// A removal that was killed may have moved the directory away and left the entry, which
    /// prevents the branch from being checked out elsewhere. `ours` is called as in
    /// [`Worktrees::reconcile`].
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn drop_dangling(&self, ours: &dyn Fn(&str) -> bool) -> Result<(), GitError> {
        let held = self.repo.lock(Work::Reconciling)?;
        for entry in entries::all(self.repo.common_dir())? {
            let is_ours = std::fs::read_to_string(entry.join("locked"))
                .is_ok_and(|reason| ours(reason.trim_end()));
            let Ok(pointer) = std::fs::read(entry.join("gitdir")) else {
                continue;
            };
            let pointer = crate::files::openat::path_of(pointer.trim_ascii_end());
            if is_ours
                && pointer
                    .parent()
                    .is_some_and(|folder| matches!(folder.try_exists(), Ok(false)))
            {
                entries::drop_entry(&entry, &held)?;
            }
        }
        Ok(())
    }
}

fn remove_locks(folder: &Path, removed: &mut Vec<PathBuf>) -> Result<(), GitError> {
    for path in entries::list(folder)? {
        if path.is_dir() {
            remove_locks(&path, removed)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            remove(path, removed)?;
        }
    }
    Ok(())
}

fn remove(path: PathBuf, removed: &mut Vec<PathBuf>) -> Result<(), GitError> {
    let found = if_there(std::fs::remove_file(&path)).map_err(GitError::io("remove", &path))?;
    removed.extend(found.map(|()| path));
    Ok(())
}
