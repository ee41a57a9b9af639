//! What killed processes leave behind in the common directory, found and removed.
//!
//! An entry whose `commondir` is empty makes `worktree list`, `branch -D`, `fetch` and `gc` fail, and
//! `git worktree prune` does not heal it. Ours are removed; anybody else's are named, never touched.

use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::lock::{self, Held};
use crate::repo::Repo;

/// What [`Repo::reconcile`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Half-made entries and left locks of ours that were removed.
    pub removed: Vec<PathBuf>,
    /// Half-made entries of somebody else's: git fails until the user removes them.
    pub foreign: Vec<PathBuf>,
}

impl Repo {
    /// Removes what killed processes of ours left: half-made worktree entries and locks on our refs.
    ///
    /// `ours` tells whether a worktree's id (the last component of its path) is one of ours. Call it while no
    /// other process works on what `ours` names.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn reconcile(&self, ours: &dyn Fn(&str) -> bool) -> Result<Reconciled, GitError> {
        let held = lock::common(self.common_dir())?;
        let mut found = heal(self.common_dir(), &held, ours)?;
        for folder in ["refs/orchestrate", "refs/heads/orchestrate"] {
            remove_locks(&self.common_dir().join(folder), &mut found.removed)?;
        }
        Ok(found)
    }
}

/// Removes the half-made entries that are ours.
pub(crate) fn heal(common_dir: &Path, held: &Held, ours: &dyn Fn(&str) -> bool) -> Result<Reconciled, GitError> {
    let mut found = Reconciled::default();
    for entry in entries(common_dir)? {
        if is_whole(&entry) {
            continue;
        }
        if entry.file_name().and_then(|name| name.to_str()).is_some_and(ours) {
            drop_entry(&entry, held)?;
            found.removed.push(entry);
        } else {
            found.foreign.push(entry);
        }
    }
    Ok(found)
}

/// Lists git's entries for linked worktrees, whole or not, sorted.
pub(crate) fn entries(common_dir: &Path) -> Result<Vec<PathBuf>, GitError> {
    let folder = common_dir.join("worktrees");
    let listed = match std::fs::read_dir(&folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(GitError::Io { doing: "list", path: folder, source: error });
        }
    };
    let mut entries = Vec::new();
    for entry in listed {
        entries.push(entry.map_err(GitError::io("list", &folder))?.path());
    }
    entries.sort();
    Ok(entries)
}

/// Removes git's entry for a worktree. It is moved aside first, so that git never sees half of it.
pub(crate) fn drop_entry(admin_dir: &Path, _held: &Held) -> Result<(), GitError> {
    let (Some(worktrees), Some(name)) = (admin_dir.parent(), admin_dir.file_name()) else {
        return Ok(());
    };
    let aside = worktrees.parent().unwrap_or(worktrees).join("orchestrate-trash");
    std::fs::create_dir_all(&aside).map_err(GitError::io("make", &aside))?;
    let target = aside.join(name);
    let absent = |result: std::io::Result<()>| match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    absent(std::fs::remove_dir_all(&target)).map_err(GitError::io("delete", &target))?;
    absent(std::fs::rename(admin_dir, &target)).map_err(GitError::io("remove", admin_dir))?;
    absent(std::fs::remove_dir_all(&aside)).map_err(GitError::io("delete", &aside))?;
    // Git removes the folder with the last entry, and so do we; it fails while there are others.
    drop(std::fs::remove_dir(worktrees));
    Ok(())
}

fn is_whole(entry: &Path) -> bool {
    ["commondir", "gitdir", "HEAD"].iter().all(|name| entry.join(name).metadata().is_ok_and(|meta| meta.len() > 0))
}

fn remove_locks(folder: &Path, removed: &mut Vec<PathBuf>) -> Result<(), GitError> {
    let Ok(listed) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in listed {
        let entry = entry.map_err(GitError::io("list", folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(GitError::io("look at", &path))?;
        if kind.is_dir() {
            remove_locks(&path, removed)?;
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            std::fs::remove_file(&path).map_err(GitError::io("remove", &path))?;
            removed.push(path);
        }
    }
    Ok(())
}
