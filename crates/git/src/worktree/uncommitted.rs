//! Finds what a worktree contains that is in no snapshot and would be lost with the worktree.
//!
//! That is ignored files, what looks like a secret, and the `.git` of nested repositories; caches
//! and build outputs can be made again. A file that is the same in the user's checkout, such as a
//! copy made for `.worktreeinclude`, is not lost, also where paths in the copy lead into the
//! worktree, and neither is such a copy that nothing has changed since, whatever has become of the
//! original. Nor is what was brought from the base, which the project's setup and its check make
//! again, or what a program only caches for its next run. Nothing is stored or changed here.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::error::GitError;
use crate::files::ignore::{Rules, Standard};
use crate::files::openat;
use crate::files::openat::{Held, join, path_of};
use crate::repo::worktree::Worktree;
use crate::store::walk::{Found, ScratchPath};
use crate::worktree::ignored::copies::Copies;
use crate::worktree::ignored::links_back::{Kind, MAX_SEARCHED, Relocated, Relocation};
use crate::worktree::kept::KeptFiles;
use crate::worktree::worktrees::Worktrees;

/// Folders in which programs keep only what they make again from the other files.
const CACHES: [&[u8]; 4] = [
    b"__pycache__",
    b".pytest_cache",
    b".mypy_cache",
    b".ruff_cache",
];

/// A search for ignored files that exist only in a worktree.
struct Search<'a> {
    worktree: &'a Worktree,
    /// The open directory of the user's checkout.
    checkout: OwnedFd,
    /// What becomes of paths into the checkout in a copy.
    relocation: Relocation,
    /// The copies that were made for `.worktreeinclude`.
    copies: Copies,
    tracked: BTreeMap<Vec<u8>, u32>,
}

impl Worktrees<'_> {
    /// Lists the topmost files and folders of a worktree that contain something that exists nowhere
    /// else, sorted. The name of a folder ends with a slash.
    ///
    /// # Errors
    /// If something cannot be read, so that the answer is unknown.
    pub fn uncommitted(&self, worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
        worktree.verify_untampered()?;
        let found = self.walk(worktree, &self.tracked(worktree)?)?;
        self.only_in(worktree, &found)
    }

    /// Lists the same of a worktree whose other files are stored, without looking at all of them
    /// again.
    ///
    /// # Errors
    /// See [`Worktrees::uncommitted`].
    pub fn uncommitted_beside(
        &self,
        worktree: &Worktree,
        kept: &KeptFiles,
    ) -> Result<Vec<PathBuf>, GitError> {
        worktree.verify_untampered()?;
        self.only_in(worktree, &kept.found)
    }

    fn only_in(&self, worktree: &Worktree, found: &Found) -> Result<Vec<PathBuf>, GitError> {
        let checkout = openat::open_root(self.repo.workdir())
            .map_err(GitError::errno("open", self.repo.workdir()))?;
        let relocation = Relocation::new(self.repo.workdir(), worktree.path());
        let (copies, tracked) = (Copies::read(worktree)?, self.tracked(worktree)?);
        let search = Search {
            worktree,
            checkout,
            relocation,
            copies,
            tracked,
        };
        let (mut uncommitted, brought) = (Vec::new(), self.brought_to(worktree)?);
        for (path, is_folder) in &found.ignored {
            if !brought.contains(path) && search.is_only_here(path, *is_folder)? {
                uncommitted.push(path_of(&if *is_folder {
                    join(path, b"")
                } else {
                    path.clone()
                }));
            }
        }
        uncommitted.extend(found.withheld.iter().map(|file| PathBuf::from(&file.path)));
        uncommitted.extend(found.nested.iter().map(|folder| folder.join(".git/")));
        uncommitted.sort();
        Ok(uncommitted)
    }

    /// Lists the caches and build outputs of a worktree that stay out of commits, sorted. The name
    /// of a folder ends with a slash.
    ///
    /// # Errors
    /// If the worktree cannot be trusted or read.
    pub fn scratch(&self, worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
        worktree.verify_untampered()?;
        let found = self.walk(worktree, &self.tracked(worktree)?)?;
        Ok(found.scratch.into_iter().map(place_of).collect())
    }

    /// Reports whether git ignores a file of a worktree, so that it cannot become part of a commit.
    ///
    /// # Errors
    /// If the rules or the index cannot be read.
    pub fn ignores(&self, worktree: &Worktree, file: &Path) -> Result<bool, GitError> {
        let index = git2::Index::open(&worktree.admin_dir().join("index"))
            .map_err(GitError::library("read the index"))?;
        if index.get_path(file, 0).is_some() {
            return Ok(false);
        }
        let standard = Standard::read(&*self.repo.handle()?)?;
        let (mut folder, mut rules) = (Vec::new(), None);
        let mut names = file
            .as_os_str()
            .as_bytes()
            .split(|byte| *byte == b'/')
            .peekable();
        while let Some(name) = names.next() {
            let shown = worktree.path().join(path_of(&folder));
            let opened = openat::open_folder(worktree.root(), &folder)
                .map_err(GitError::errno("open", shown))?;
            let here = Rules::read(&folder, &opened, rules, &standard)?;
            folder = join(&folder, name);
            if standard.is_ignored(&here, &folder, names.peek().is_some())? {
                return Ok(true);
            }
            rules = Some(here);
        }
        Ok(false)
    }
}

fn place_of(left: ScratchPath) -> PathBuf {
    path_of(&if left.is_folder {
        join(&left.path, b"")
    } else {
        left.path
    })
}

impl Search<'_> {
    /// Reports whether a file, or any file below a folder, is neither tracked nor in the user's
    /// checkout.
    fn is_only_here(&self, path: &[u8], is_folder: bool) -> Result<bool, GitError> {
        let failed =
            |path: &[u8]| GitError::errno("list", self.worktree.path().join(path_of(path)));
        let root = Held::root(self.worktree.root()).map_err(failed(b""))?;
        if !is_folder {
            let (folder, _) = openat::split(path);
            let opened = root.open(folder).map_err(failed(folder))?;
            return self.is_file_only_here(&opened, path);
        }
        let mut open = vec![(path.to_vec(), root)];
        while let Some((folder, held)) = open.pop() {
            if is_cache(&folder) {
                continue;
            }
            let opened = held.open(&folder).map_err(|error| failed(&folder)(error))?;
            let held = held.below(&folder, &opened);
            for (name, is_folder) in
                openat::list(&opened).map_err(|error| failed(&folder)(error))?
            {
                let path = join(&folder, &name);
                if is_folder {
                    open.push((path, held.clone()));
                } else if self.is_file_only_here(&opened, &path)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Reports whether a file of an open folder is neither tracked nor in the user's checkout.
    fn is_file_only_here(&self, folder: &OwnedFd, path: &[u8]) -> Result<bool, GitError> {
        Ok(!self.tracked.contains_key(path) && !self.is_in_the_checkout(folder, path)?)
    }

    /// Reports whether the user's checkout has the same file or link, or had it when it was copied.
    /// Also true for a pipe or socket, which has no content to lose.
    fn is_in_the_checkout(&self, opened: &OwnedFd, path: &[u8]) -> Result<bool, GitError> {
        let failed = GitError::errno("read", self.worktree.path().join(path_of(path)));
        let (folder, name) = openat::split(path);
        let stat = openat::look(opened, name).map_err(&failed)?;
        let kind = stat.as_ref().map(openat::kind);
        if !matches!(kind, Some(FileType::RegularFile | FileType::Symlink)) {
            return Ok(true);
        }
        if stat.is_some_and(|stat| self.copies.has_unchanged(path, &stat)) {
            return Ok(true);
        }
        // A file that cannot be opened there counts as missing.
        let Ok(theirs) = openat::open_folder(&self.checkout, folder) else {
            return Ok(false);
        };
        match kind {
            Some(FileType::Symlink) => {
                let ours = openat::read_link(opened, name).map_err(&failed)?;
                let Ok(theirs) = openat::read_link(&theirs, name) else {
                    return Ok(false);
                };
                Ok(theirs == ours || self.relocated_link(path, &theirs) == Some(ours))
            }
            _ if openat::is_same_file(opened, &theirs, name).map_err(&failed)? => Ok(true),
            _ => {
                let Some(copy) = self.relocated_file(path, &theirs, name) else {
                    return Ok(false);
                };
                let ours = openat::read(opened, name, MAX_SEARCHED).map_err(&failed)?;
                Ok(ours.is_some_and(|(ours, _)| ours == copy))
            }
        }
    }

    /// Returns the target in a copy of a link that leads into the checkout, or `None` for any other
    /// link.
    fn relocated_link(&self, path: &[u8], target: &[u8]) -> Option<Vec<u8>> {
        match self
            .relocation
            .link(&path_of(path), Path::new(OsStr::from_bytes(target)))
        {
            Relocated::Other(target) => Some(target),
            Relocated::Same | Relocated::LeftOut => None,
        }
    }

    /// Returns the content of a copy of a file that leads into the checkout, or `None` for any
    /// other file.
    fn relocated_file(&self, path: &[u8], theirs: &OwnedFd, name: &[u8]) -> Option<Vec<u8>> {
        let kind = Kind::for_path(path)?;
        let (bytes, _) = openat::read(theirs, name, MAX_SEARCHED).ok()??;
        match self.relocation.content(kind, &bytes).ok()? {
            Relocated::Other(copy) => Some(copy),
            Relocated::Same | Relocated::LeftOut => None,
        }
    }
}

/// Reports whether a folder holds only what a program makes again.
fn is_cache(path: &[u8]) -> bool {
    let (_, name) = openat::split(path);
    CACHES.contains(&name)
}
