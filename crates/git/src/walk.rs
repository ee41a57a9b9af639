//! Which files of a worktree are new: not in its index and not ignored.
//!
//! Folders are opened below the worktree's descriptor and links are never followed. Ignore rules are
//! libgit2's, asked for each name on the way down, so that nothing below an ignored folder comes back, as
//! with git. Before libgit2 reads a rules file we look at it: a pipe in its place would hang us.
//!
//! A `.git` below the top is no repository to us: it is reported and passed over, and the files beside it are
//! files like any others, so what an agent cloned or initialised inside its worktree is not lost.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use git2::Repository;
use rustix::fs::FileType;

use crate::beneath::{self, path_of};
use crate::error::GitError;
use crate::worktree::Worktree;

/// The files that decide what is ignored and how content is stored.
const RULES: [&[u8]; 2] = [b".gitignore", b".gitattributes"];
/// The largest of them that we let libgit2 read.
const RULES_BYTES: i64 = 1 << 20;
/// The deepest folder that we enter: a path of 4,096 bytes has at most half as many parts.
const DEEPEST: usize = 2_048;

/// What a walk through a worktree found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// New files, sorted by path.
    pub(crate) new: Vec<Vec<u8>>,
    /// Folders that hold a `.git` of their own.
    pub(crate) nested: Vec<PathBuf>,
    /// Pipes, sockets and devices, which git cannot store.
    pub(crate) special: Vec<PathBuf>,
}

/// A walk, with the rules files that have been looked at.
pub(crate) struct Walk<'a> {
    pub(crate) worktree: &'a Worktree,
    pub(crate) repository: &'a Repository,
    plain: BTreeSet<Vec<u8>>,
}

impl<'a> Walk<'a> {
    /// Prepares a walk; `repository` is libgit2 on the worktree's admin directory.
    pub(crate) fn new(worktree: &'a Worktree, repository: &'a Repository) -> Self {
        Walk { worktree, repository, plain: BTreeSet::new() }
    }

    /// Finds the files that are not tracked and not ignored; `tracked` is the index by path.
    pub(crate) fn new_files<T>(&mut self, tracked: &BTreeMap<Vec<u8>, T>) -> Result<Found, GitError> {
        let mut found = Found::default();
        let mut open = vec![Vec::new()];
        while let Some(folder) = open.pop() {
            self.enter(&folder, tracked, &mut found, &mut open)?;
        }
        found.new.sort();
        found.nested.sort();
        found.special.sort();
        Ok(found)
    }

    fn enter<T>(
        &mut self,
        folder: &[u8],
        tracked: &BTreeMap<Vec<u8>, T>,
        found: &mut Found,
        open: &mut Vec<Vec<u8>>,
    ) -> Result<(), GitError> {
        let shown = || self.worktree.path().join(path_of(folder));
        let opened = beneath::open_folder(self.worktree.root(), folder).map_err(GitError::errno("open", shown()))?;
        let names = beneath::list(&opened).map_err(GitError::errno("list", shown()))?;
        if folder.iter().filter(|byte| **byte == b'/').count() > DEEPEST {
            return Err(GitError::TooLarge { path: shown(), what: "the depth of a folder", limit: DEEPEST as u64 });
        }
        self.require_plain_rules_in(folder, &opened)?;
        for (name, is_folder) in names {
            if name == b".git" {
                if !folder.is_empty() {
                    found.nested.push(path_of(folder));
                }
                continue;
            }
            let path = join(folder, &name);
            if is_folder {
                if !self.is_ignored(&[path.as_slice(), b"/"].concat())? {
                    open.push(path);
                }
            } else if !tracked.contains_key(&path) && !self.is_ignored(&path)? {
                self.sort_in(&opened, &name, path, found)?;
            }
        }
        Ok(())
    }

    fn sort_in(&self, folder: &OwnedFd, name: &[u8], path: Vec<u8>, found: &mut Found) -> Result<(), GitError> {
        let stat = beneath::look(folder, name).map_err(GitError::errno("look at", path_of(&path)))?;
        match stat.as_ref().map(beneath::kind) {
            Some(FileType::RegularFile | FileType::Symlink) => found.new.push(path),
            Some(_) => found.special.push(path_of(&path)),
            None => {}
        }
        Ok(())
    }

    /// Looks at the rules files that libgit2 will read for this path: of its folder and all above.
    pub(crate) fn require_plain_rules_for(&mut self, path: &[u8]) -> Result<(), GitError> {
        let mut folder = beneath::split(path).0;
        loop {
            if !self.plain.contains(folder) {
                match beneath::open_folder(self.worktree.root(), folder) {
                    Ok(opened) => self.require_plain_rules_in(folder, &opened)?,
                    Err(_) => drop(self.plain.insert(folder.to_vec())),
                }
            }
            if folder.is_empty() {
                return Ok(());
            }
            folder = beneath::split(folder).0;
        }
    }

    fn require_plain_rules_in(&mut self, folder: &[u8], opened: &OwnedFd) -> Result<(), GitError> {
        for name in RULES {
            let path = || path_of(&join(folder, name));
            let stat = beneath::look(opened, name).map_err(GitError::errno("look at", path()))?;
            if stat.is_some_and(|stat| beneath::kind(&stat) != FileType::RegularFile || stat.st_size > RULES_BYTES) {
                let reason = format!("rules for git must be a plain file of at most {RULES_BYTES} bytes");
                return Err(GitError::Unstorable { path: path(), reason });
            }
        }
        self.plain.insert(folder.to_vec());
        Ok(())
    }

    fn is_ignored(&self, path: &[u8]) -> Result<bool, GitError> {
        let path = path_of(path);
        self.repository
            .is_path_ignored(&path)
            .map_err(GitError::library(format!("read the ignore rules for {}", path.display())))
    }
}

/// Appends a name to git's path of a folder.
pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}
