//! What a command has made in one worktree, brought to another one.
//!
//! Files that git does not track are copied: by reference where the file system can, otherwise byte by byte. They are
//! never linked: an agent owns its worktree, so it could write through a link into the files of all others. Paths into
//! the first worktree are replaced as those into the checkout are ([`links_back`](crate::worktree::links_back)); a
//! result in which that is not exact is not brought at all.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::GitError;
use crate::store::openat;
use crate::store::openat::{join, path_of};
use crate::worktree::handle::Worktrees;
use crate::worktree::links_back::Relocation;
use crate::worktree::worktrees::Worktree;

/// The entries that git does not track, each folder before what is in it.
type Untracked = Vec<(Vec<u8>, bool)>;

impl Worktrees<'_> {
    /// Brings what a command has made in the worktree `from` to the worktree `to`, whose own files of the same names
    /// are replaced. Returns false if that is not possible exactly: the command has to run in `to` as well, where some
    /// files may have been brought already.
    ///
    /// # Errors
    /// If one of the worktrees cannot be trusted, or a file cannot be read or written.
    pub fn bring_made(&self, from: &Worktree, to: &Worktree) -> Result<bool, GitError> {
        from.verify_untampered()?;
        to.verify_untampered()?;
        let tracked = self.tracked(from)?;
        let changes = self.repo.store().status(from)?;
        if changes.iter().any(|change| tracked.contains_key(change.path.as_os_str().as_bytes())) {
            return Ok(false);
        }
        let Some(made) = untracked(from, &tracked)? else { return Ok(false) };
        let relocation = Relocation::new(from.path(), to.path());
        let source = openat::open_root(from.path()).map_err(GitError::errno("open", from.path()))?;
        for (path, is_folder) in made {
            if !self.bring_one(&source, to, &relocation, (&path, is_folder))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Brings one file or folder; returns whether that was possible exactly.
    fn bring_one(
        &self,
        source: &OwnedFd,
        to: &Worktree,
        relocation: &Relocation,
        (path, is_folder): (&[u8], bool),
    ) -> Result<bool, GitError> {
        let done = if is_folder {
            openat::make_folder(to.root(), path).map(drop)
        } else {
            let (folder, name) = openat::split(path);
            match self.relocated(source, relocation, path) {
                Ok(Some(entry)) => openat::make_folder(to.root(), folder).and_then(|target| entry.put(&target, name)),
                Ok(None) => Ok(()),
                Err(GitError::Refused { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        };
        match done {
            Ok(()) => Ok(true),
            // The worktree has a file in the place of a folder, or a folder in the place of a file.
            Err(Errno::NOTDIR | Errno::LOOP | Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
            Err(error) => Err(GitError::errno("write", to.path().join(path_of(path)))(error)),
        }
    }
}

/// Lists what git does not track in a worktree; `None` if there is an entry that cannot be copied, such as a pipe or a
/// repository.
fn untracked(worktree: &Worktree, tracked: &BTreeMap<Vec<u8>, ()>) -> Result<Option<Untracked>, GitError> {
    let (mut found, mut open) = (Vec::new(), vec![Vec::new()]);
    while let Some(folder) = open.pop() {
        let failed = || GitError::errno("list", worktree.path().join(path_of(&folder)));
        let opened = openat::open_folder(worktree.root(), &folder).map_err(failed())?;
        for (name, is_folder) in openat::list(&opened).map_err(failed())? {
            let path = join(&folder, &name);
            if name == b".git" {
                if folder.is_empty() {
                    continue;
                }
                return Ok(None);
            }
            if is_folder {
                open.push(path.clone());
            } else if tracked.contains_key(&path) {
                continue;
            } else {
                let kind = openat::look(&opened, &name).map_err(failed())?.as_ref().map(openat::kind);
                if !matches!(kind, Some(FileType::RegularFile | FileType::Symlink)) {
                    return Ok(None);
                }
            }
            found.push((path, is_folder));
        }
    }
    Ok(Some(found))
}
