//! Resets worktrees to another commit: the verifier's before each check, an agent's for a new
//! attempt.
//!
//! Tracked files become the commit's, ignored ones (build caches) stay, and new files that are not
//! ignored are removed. In an agent's worktree, those that stay out of commits stay there, too: no
//! snapshot has them.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use orchestrate_core::Oid;

use crate::error::GitError;
use crate::files::ignore::Standard;
use crate::files::openat;
use crate::program::retry;
use crate::repo::refs::branch_ref;
use crate::repo::repository::theirs;
use crate::repo::worktree::Worktree;
use crate::store::walk::{Found, Sorting, TakenFiles, Walk};
use crate::worktree::worktrees::Worktrees;

impl Worktrees<'_> {
    /// Makes a detached worktree contain exactly the files of a commit or tree, besides ignored
    /// ones.
    ///
    /// For a commit, HEAD is moved to it.
    ///
    /// # Errors
    /// [`GitError::NotDetached`] if the worktree has a branch; also if it was tampered with, or git
    /// fails.
    pub fn checkout_detached(&self, worktree: &Worktree, treeish: &Oid) -> Result<(), GitError> {
        if let Some(branch) = worktree.branch() {
            return Err(GitError::NotDetached {
                path: worktree.path().to_owned(),
                branch: branch.to_owned(),
            });
        }
        self.fill(worktree, treeish)?;
        let is_commit = self.repo.handle()?.find_commit(theirs(treeish)?).is_ok();
        if is_commit {
            let repository = self.repo.open_git_dir(worktree.admin_dir())?;
            let head = theirs(treeish)?;
            let moved =
                retry::while_locked(|| retry::while_swept(|| repository.set_head_detached(head)));
            moved.map_err(GitError::library("move HEAD of the verifier"))?;
        }
        // No agent works there, so that a cache or a secret of an earlier tree would only falsify
        // the next check.
        let found = self.walk_over_all(worktree)?;
        remove_strays(worktree, &found)?;
        for folder in &found.nested {
            remove_nested(worktree, folder)?;
        }
        // What an earlier check left in git would decide the next one.
        self.renew_git(worktree)
    }

    /// Moves a worktree's branch to another commit and makes the worktree contain exactly its
    /// files, besides ignored ones. It serves a new attempt of an agent whose previous attempt is
    /// kept. The `.git` of a nested repository stays, because no ref can hold it.
    ///
    /// It can be repeated: once the branch is at `new`, all other contents of the worktree are
    /// taken for the remains of a killed repetition and replaced. Before that, files that are
    /// stored nowhere else are an error.
    ///
    /// # Errors
    /// [`GitError::RefMoved`] if the branch is neither at `expected` nor at `new`;
    /// [`GitError::Unkept`].
    pub fn restart(&self, worktree: &Worktree, expected: &Oid, new: &Oid) -> Result<(), GitError> {
        let branch = worktree.branch().ok_or_else(|| GitError::NoWorktree {
            path: worktree.path().to_owned(),
            reason: "it has no branch".to_owned(),
        })?;
        let name = branch_ref(branch);
        if self.repo.read_ref(&name)?.as_ref() != Some(new) {
            drop(self.require_kept(worktree)?);
            self.repo.advance(&name, Some(expected), new)?;
        }
        self.fill(worktree, new)?;
        remove_strays(worktree, &self.walk(worktree, &self.tracked(worktree)?)?)
    }

    /// Removes new files whose names begin with `prefix`, which a killed process left; no program
    /// is run for that.
    ///
    /// # Errors
    /// If the worktree was tampered with, or the file system refuses.
    pub fn remove_leftovers(&self, worktree: &Worktree, prefix: &str) -> Result<(), GitError> {
        worktree.verify_untampered()?;
        let tracked = self.tracked(worktree)?;
        for path in &self.walk(worktree, &tracked)?.new {
            let (_, name) = openat::split(path);
            if name.starts_with(prefix.as_bytes()) {
                remove_new_file(worktree, path)?;
            }
        }
        Ok(())
    }

    /// Returns the paths in a worktree's index, each with its mode.
    pub(crate) fn tracked(&self, worktree: &Worktree) -> Result<BTreeMap<Vec<u8>, u32>, GitError> {
        let path = worktree.admin_dir().join("index");
        let index = git2::Index::open(&path)
            .map_err(GitError::library(format!("read {}", path.display())))?;
        Ok(index.iter().map(|entry| (entry.path, entry.mode)).collect())
    }

    /// Returns what the tracked files of the user's checkout take, as far as git has noted it.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn tracked_bytes(&self) -> Result<u64, GitError> {
        let index = self
            .repo
            .handle()?
            .index()
            .map_err(GitError::library("read the index"))?;
        Ok(index.iter().map(|entry| u64::from(entry.file_size)).sum())
    }

    /// Finds the untracked files of a worktree.
    pub(crate) fn walk(
        &self,
        worktree: &Worktree,
        tracked: &BTreeMap<Vec<u8>, u32>,
    ) -> Result<Found, GitError> {
        let standard = Standard::read(&*self.repo.handle()?)?;
        let sorting = Sorting {
            rules: &self.repo.rules,
            taken: &TakenFiles::default(),
        };
        Walk::new(worktree, standard, Some(sorting)).untracked(tracked)
    }

    /// Finds the untracked files of a worktree, without regard to what stays out of commits.
    fn walk_over_all(&self, worktree: &Worktree) -> Result<Found, GitError> {
        let standard = Standard::read(&*self.repo.handle()?)?;
        Walk::new(worktree, standard, None).untracked(&self.tracked(worktree)?)
    }
}

/// Removes the new files that a walk found, and the folders that this leaves empty.
fn remove_strays(worktree: &Worktree, found: &Found) -> Result<(), GitError> {
    let special = found
        .special
        .iter()
        .map(|path| path.as_os_str().as_bytes().to_vec());
    for path in found.new.iter().cloned().chain(special) {
        remove_new_file(worktree, &path)?;
    }
    Ok(())
}

/// Removes the `.git` of a nested repository, and the folders that this leaves empty.
fn remove_nested(worktree: &Worktree, folder: &Path) -> Result<(), GitError> {
    let path = folder.as_os_str().as_bytes();
    let failed = GitError::errno("remove", worktree.path().join(folder));
    let Ok(opened) = openat::open_folder(worktree.root(), path) else {
        return Ok(());
    };
    match openat::look(&opened, b".git").map_err(&failed)? {
        Some(stat) if openat::kind(&stat) == rustix::fs::FileType::Directory => {
            openat::remove_folder(&opened, b".git").map_err(&failed)?;
        }
        _ => openat::remove_file(&opened, b".git").map_err(&failed)?,
    }
    openat::remove_empty_folders(worktree.root(), path).map_err(&failed)
}

/// Removes an untracked file, and the folders that this leaves empty.
fn remove_new_file(worktree: &Worktree, path: &[u8]) -> Result<(), GitError> {
    let failed = GitError::errno("remove", worktree.path().join(openat::path_of(path)));
    let (folder, name) = openat::split(path);
    let opened = openat::open_folder(worktree.root(), folder).map_err(&failed)?;
    openat::remove_file(&opened, name).map_err(&failed)?;
    openat::remove_empty_folders(worktree.root(), folder).map_err(&failed)
}
