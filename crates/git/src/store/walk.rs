//! Finds the files of a worktree that are not in its index: new ones, and ignored ones.
//!
//! Folders are opened below the worktree's descriptor, and links are never followed. Ignore rules
//! are applied to each name on the way down, so nothing below an ignored folder is included again,
//! as with git. Libgit2 reads the attributes, so we examine each of these files first: a pipe in
//! its place would hang libgit2.
//!
//! A `.git` below the top does not make a folder a repository for us. It is reported and skipped,
//! and the files beside it are ordinary files. So nothing that an agent cloned or initialised
//! inside its worktree is lost. The folder of a submodule is not entered: what may be in it is decided in
//! [`crate::worktree::brought`].

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;

use git2::Repository;
use rustix::fs::{FileType, Stat};

use crate::error::GitError;
use crate::store::bounds;
use crate::store::ignore::{Rules, Standard};
use crate::store::index_entry::{GITLINK, Recorded};
use crate::store::openat;
use crate::store::openat::{join, path_of};
use crate::worktree::worktrees::Worktree;

/// The name of the files that determine how content is stored.
const ATTRIBUTES: &[u8] = b".gitattributes";
/// The deepest folder that is entered: a path of 4,096 bytes has at most half as many parts.
const DEEPEST: usize = 2_048;

/// The result of a walk through a worktree.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// New files, sorted by path.
    pub(crate) new: Vec<Vec<u8>>,
    /// Folders that hold a `.git` of their own.
    pub(crate) nested: Vec<PathBuf>,
    /// Pipes, sockets and devices, which git cannot store.
    pub(crate) special: Vec<PathBuf>,
    /// Ignored files and folders, and whether each is a folder; nothing below an ignored folder.
    pub(crate) ignored: Vec<(Vec<u8>, bool)>,
}

/// A walk, with the folders whose attributes have been checked.
pub(crate) struct Walk<'a> {
    worktree: &'a Worktree,
    standard: Standard,
    plain: BTreeSet<Vec<u8>>,
}

/// A folder to be entered, with the rules of its parent.
type ToEnter = (Vec<u8>, Option<Rc<Rules>>);

impl<'a> Walk<'a> {
    /// Prepares a walk; `repository` is libgit2 on the worktree's admin directory.
    ///
    /// # Errors
    /// If the rules that apply everywhere cannot be read.
    pub(crate) fn new(worktree: &'a Worktree, repository: &Repository) -> Result<Self, GitError> {
        Ok(Walk { worktree, standard: Standard::of(repository)?, plain: BTreeSet::new() })
    }

    /// Returns the rules that apply everywhere.
    pub(crate) fn standard(&self) -> &Standard {
        &self.standard
    }

    /// Finds the files that are not tracked; `tracked` is the index by path.
    pub(crate) fn untracked<T: Recorded>(&mut self, tracked: &BTreeMap<Vec<u8>, T>) -> Result<Found, GitError> {
        let mut found = Found::default();
        let mut open: Vec<ToEnter> = vec![(Vec::new(), None)];
        while let Some(folder) = open.pop() {
            self.enter(folder, tracked, &mut found, &mut open)?;
        }
        found.new.sort();
        found.nested.sort();
        found.special.sort();
        found.ignored.sort();
        Ok(found)
    }

    fn enter<T: Recorded>(
        &mut self,
        (folder, above): ToEnter,
        tracked: &BTreeMap<Vec<u8>, T>,
        found: &mut Found,
        open: &mut Vec<ToEnter>,
    ) -> Result<(), GitError> {
        let folder = folder.as_slice();
        let shown = || self.worktree.path().join(path_of(folder));
        let opened = openat::open_folder(self.worktree.root(), folder).map_err(GitError::errno("open", shown()))?;
        if folder.iter().filter(|byte| **byte == b'/').count() > DEEPEST {
            // Git stores no folders, so nothing is lost with empty ones.
            let holds_files = openat::holds_files(opened).map_err(GitError::errno("list", self.worktree.path()))?;
            return match holds_files {
                true => Err(GitError::TooLarge {
                    path: self.worktree.path().join(top_of(folder)),
                    what: "the depth of its folders",
                    limit: DEEPEST as u64,
                }),
                false => Ok(()),
            };
        }
        let names = openat::list(&opened).map_err(GitError::errno("list", shown()))?;
        let rules = Rules::read(folder, &opened, above, &self.standard)?;
        for (name, is_folder) in names {
            if name == b".git" {
                if !folder.is_empty() {
                    found.nested.push(path_of(folder));
                }
                continue;
            }
            let path = join(folder, &name);
            let known = tracked.get(&path);
            if known.is_some_and(|known| !is_folder || known.mode() == GITLINK) {
                continue;
            }
            if self.standard.is_ignored(&rules, &path, is_folder)? {
                found.ignored.push((path, is_folder));
            } else if is_folder {
                open.push((path, Some(Rc::clone(&rules))));
            } else {
                self.sort_in(&opened, &name, path, found)?;
            }
        }
        Ok(())
    }

    fn sort_in(&self, folder: &OwnedFd, name: &[u8], path: Vec<u8>, found: &mut Found) -> Result<(), GitError> {
        let stat = openat::look(folder, name).map_err(GitError::errno("look at", path_of(&path)))?;
        match stat.as_ref().map(openat::kind) {
            Some(FileType::RegularFile | FileType::Symlink) => found.new.push(path),
            Some(_) => found.special.push(path_of(&path)),
            None => {}
        }
        Ok(())
    }

    /// Checks the attributes files that libgit2 will read for this path: those of its folder and of
    /// all folders above.
    pub(crate) fn require_plain_attributes_for(&mut self, path: &[u8]) -> Result<(), GitError> {
        let mut folder = openat::split(path).0;
        loop {
            if self.plain.insert(folder.to_vec())
                && let Ok(opened) = openat::open_folder(self.worktree.root(), folder)
            {
                require_plain_attributes(folder, &opened)?;
            }
            if folder.is_empty() {
                return Ok(());
            }
            folder = openat::split(folder).0;
        }
    }
}

fn require_plain_attributes(folder: &[u8], opened: &OwnedFd) -> Result<(), GitError> {
    let path = || path_of(&join(folder, ATTRIBUTES));
    let stat = openat::look(opened, ATTRIBUTES).map_err(GitError::errno("look at", path()))?;
    let odd = |stat: Stat| openat::kind(&stat) != FileType::RegularFile || stat.st_size > bounds::MAX_BYTES as i64;
    if stat.is_some_and(odd) {
        let reason = format!("attributes must be in a regular file of at most {} bytes", bounds::MAX_BYTES);
        return Err(GitError::Unstorable { path: path(), reason });
    }
    match bounds::excess_in(opened, ATTRIBUTES)? {
        Some(reason) => Err(GitError::Unstorable { path: path(), reason }),
        None => Ok(()),
    }
}

/// Returns the first component of a path.
fn top_of(path: &[u8]) -> PathBuf {
    path_of(path.split(|byte| *byte == b'/').next().unwrap_or_default())
}
