//! Exchanges a worktree's files for those of another tree, on its agent's request. The branch
//! stays.
//!
//! Only files that are stored are replaced: the caller has kept a snapshot of the worktree, and a
//! file that git ignores, which no snapshot has, prevents the exchange if it is in the way.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::openat;
use crate::repo::worktree::Worktree;
use crate::store::walk::Found;
use crate::worktree::worktrees::Worktrees;

impl Worktrees<'_> {
    /// Makes a worktree contain the files of a tree, besides those that git ignores. The worktree's
    /// index has to list its files, as a snapshot of it leaves the index. It can be repeated.
    ///
    /// # Errors
    /// [`GitError::Unstorable`] if a file that is stored nowhere would be lost; nothing has changed
    /// then.
    pub fn exchange(&self, worktree: &Worktree, wanted: &Oid) -> Result<(), GitError> {
        let current = self.repo.store().current_tree(worktree)?;
        if current == *wanted {
            return Ok(());
        }
        self.require_nothing_lost(worktree, wanted)?;
        self.fill(worktree, wanted)
    }

    /// Requires that no file that is stored nowhere stands where a tree has another than the
    /// worktree.
    ///
    /// # Errors
    /// [`GitError::Unstorable`] with the file.
    pub fn require_nothing_lost(&self, worktree: &Worktree, wanted: &Oid) -> Result<(), GitError> {
        let current = self.repo.store().current_tree(worktree)?;
        let changed = self.repo.store().changed_paths(&current, wanted)?;
        let found = self.walk(worktree, &self.tracked(worktree)?)?;
        let Some(path) = lost_file(worktree, &changed, &found)? else {
            return Ok(());
        };
        let reason = "it would be replaced, and it is stored nowhere else, since git ignores it or \
                      cannot store it";
        Err(GitError::Unstorable {
            path,
            reason: reason.to_owned(),
        })
    }
}

/// Returns a file that no snapshot has in the place of one that is to be written, if there is one.
fn lost_file(
    worktree: &Worktree,
    changed: &[PathBuf],
    found: &Found,
) -> Result<Option<PathBuf>, GitError> {
    let ignored = found
        .ignored
        .iter()
        .map(|(path, is_folder)| (openat::path_of(path), *is_folder));
    let nested = found
        .nested
        .iter()
        .map(|folder| (folder.join(".git"), true));
    let special = found.special.iter().map(|path| (path.clone(), false));
    let scratch = found
        .scratch
        .iter()
        .map(|left| (openat::path_of(&left.path), left.is_folder));
    let withheld = found
        .withheld
        .iter()
        .map(|file| (PathBuf::from(&file.path), false));
    for (unstored, is_folder) in ignored
        .chain(nested)
        .chain(special)
        .chain(scratch)
        .chain(withheld)
    {
        for path in changed {
            let replaces = unstored.starts_with(path);
            let is_below = path.starts_with(&unstored) && (!is_folder || exists(worktree, path)?);
            if replaces || is_below {
                return Ok(Some(if is_folder && is_below {
                    path.clone()
                } else {
                    unstored
                }));
            }
        }
    }
    Ok(None)
}

fn exists(worktree: &Worktree, path: &Path) -> Result<bool, GitError> {
    let failed = GitError::errno("look at", worktree.path().join(path));
    let (folder, name) = openat::split(path.as_os_str().as_bytes());
    match openat::open_folder(worktree.root(), folder) {
        Ok(opened) => Ok(openat::look(&opened, name).map_err(&failed)?.is_some()),
        Err(Errno::NOENT) => Ok(false),
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(true),
        Err(error) => Err(failed(error)),
    }
}
