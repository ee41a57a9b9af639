//! The submodules whose files were brought into a worktree: a record of them, and whether they
//! still are what was brought.
//!
//! No commit of the project can hold a change in a submodule, and no git sees one, since the folder
//! is no repository there. So commands find it read-only where the sandbox can do that, and a
//! snapshot fails if its files have changed: otherwise the work would be lost without a word.
//!
//! The record is in git's folder for the worktree, which no agent can write: the pinned commits,
//! and for each the index with which git wrote the files.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use git2::{Index, IndexEntry, ObjectType};
use orchestrate_files::if_there;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::ignore::{Rules, Standard};
use crate::files::index_entry::{GITLINK, has_still, looks_same, nanoseconds, seconds};
use crate::files::openat;
use crate::files::openat::{join, path_of};

/// The folder of the record, in git's folder for the worktree.
const FOLDER: &str = "orchestrate-submodules";
/// The file with the pinned commits and paths.
const LIST: &str = "list";
/// What an agent can do about a change.
const WHAT_TO_DO: &str =
    "no commit of this project can hold that; undo it, and report what has to change there";

/// A submodule whose files were brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Brought {
    /// Where they are, relative to the top of the worktree.
    pub(crate) path: Vec<u8>,
    /// The commit that they are of.
    pub(crate) commit: git2::Oid,
}

/// Reads which submodules were brought into a worktree.
///
/// # Errors
/// If the record cannot be read.
pub(crate) fn read(admin_dir: &Path) -> Result<Vec<Brought>, GitError> {
    let path = admin_dir.join(FOLDER).join(LIST);
    let found = if_there(std::fs::read(&path)).map_err(GitError::io("read", &path))?;
    let Some(text) = found else {
        return Ok(Vec::new());
    };
    let broken = || GitError::Tampered {
        path: path.clone(),
        what: "the record of submodules",
    };
    let lines = text
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let at = line
                .iter()
                .position(|byte| *byte == b' ')
                .ok_or_else(broken)?;
            let (commit, path) = line.split_at(at);
            let commit = std::str::from_utf8(commit)
                .ok()
                .and_then(|text| git2::Oid::from_str(text).ok());
            Ok(Brought {
                path: path.get(1..).ok_or_else(broken)?.to_vec(),
                commit: commit.ok_or_else(broken)?,
            })
        })
        .collect()
}

/// Records which submodules were brought into a worktree.
///
/// # Errors
/// If the file system refuses.
pub(crate) fn write(admin_dir: &Path, brought: &[Brought]) -> Result<(), GitError> {
    let path = make_folder(admin_dir)?.join(LIST);
    let lines = brought
        .iter()
        .map(|one| [one.commit.to_string().as_bytes(), b" ", &one.path, b"\0"].concat());
    orchestrate_files::replace(&path, &lines.flatten().collect::<Vec<u8>>())
        .map_err(GitError::io("write", &path))
}

/// Returns where git keeps its index of a submodule's files; the folder exists then.
///
/// # Errors
/// If the folder cannot be created.
pub(crate) fn index_path(admin_dir: &Path, path: &[u8]) -> Result<PathBuf, GitError> {
    let name = git2::Oid::hash_object(ObjectType::Blob, path)
        .map_err(GitError::library("name an index"))?;
    Ok(make_folder(admin_dir)?.join(format!("{name}.index")))
}

/// Lists the folders of brought submodules that are in no other one, relative to the top of the
/// worktree.
pub(crate) fn outer_folders(admin_dir: &Path) -> Vec<PathBuf> {
    // Without a record they are not known. They can be written then, and the next snapshot says
    // what is wrong.
    let Ok(brought) = read(admin_dir) else {
        return Vec::new();
    };
    brought
        .iter()
        .filter(|one| !is_nested(&one.path, &brought))
        .map(|one| path_of(&one.path))
        .collect()
}

/// Requires that the folders of submodules have the files that were brought, or none.
///
/// # Errors
/// [`GitError::Unstorable`] with what has changed.
pub(crate) fn require_unchanged(
    root: BorrowedFd<'_>,
    admin_dir: &Path,
    links: &BTreeMap<Vec<u8>, git2::Oid>,
    standard: &Standard,
) -> Result<(), GitError> {
    let brought = read(admin_dir)?;
    let known = paths(&brought);
    for path in links.keys().filter(|path| !known.contains(path.as_slice())) {
        require_empty(root, path)?;
    }
    for one in &brought {
        let is_pinned = match links.get(&one.path) {
            Some(pinned) => *pinned == one.commit,
            None => is_nested(&one.path, &brought),
        };
        if !is_pinned {
            return Err(changed(
                &one.path,
                "is the folder of a submodule whose commit was changed",
            ));
        }
        Look::at(root, admin_dir, one, &known)?.require_as_brought(standard)?;
    }
    Ok(())
}

/// Reports whether a brought submodule has exactly the files that were brought, besides those that
/// it ignores.
///
/// # Errors
/// If something cannot be read.
pub(crate) fn is_unchanged(
    root: BorrowedFd<'_>,
    admin_dir: &Path,
    one: &Brought,
    all: &[Brought],
    standard: &Standard,
) -> Result<bool, GitError> {
    let known = paths(all);
    match Look::at(root, admin_dir, one, &known)?.require_as_brought(standard) {
        Err(GitError::Unstorable { .. }) => Ok(false),
        other => other.map(|()| true),
    }
}

fn paths(brought: &[Brought]) -> BTreeSet<&[u8]> {
    brought.iter().map(|one| one.path.as_slice()).collect()
}

/// Reports whether a path is below a brought submodule.
fn is_nested(path: &[u8], brought: &[Brought]) -> bool {
    let is_above = |other: &[u8]| {
        path.strip_prefix(other)
            .is_some_and(|below| below.starts_with(b"/"))
    };
    brought.iter().any(|other| is_above(&other.path))
}

/// Requires that the folder of a submodule that was not brought has no files.
fn require_empty(root: BorrowedFd<'_>, path: &[u8]) -> Result<(), GitError> {
    let failed = GitError::errno("open", path_of(path));
    match openat::open_folder(root, path) {
        Err(Errno::NOENT) => Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            Err(changed(path, "replaces the folder of a submodule"))
        }
        opened => match openat::holds_files(&opened.map_err(&failed)?).map_err(&failed)? {
            true => Err(changed(
                path,
                "is the folder of a submodule, which is empty here, and has files now",
            )),
            false => Ok(()),
        },
    }
}

/// A look at the files of a submodule.
struct Look<'a> {
    root: BorrowedFd<'a>,
    path: &'a [u8],
    /// What git recorded when it wrote the files, by path in the submodule.
    recorded: BTreeMap<Vec<u8>, IndexEntry>,
    /// When the record was written. Files that are not older are compared by their content.
    written: (i64, i64),
    /// All submodules that were brought.
    known: &'a BTreeSet<&'a [u8]>,
}

impl<'a> Look<'a> {
    fn at(
        root: BorrowedFd<'a>,
        admin_dir: &Path,
        brought: &'a Brought,
        known: &'a BTreeSet<&'a [u8]>,
    ) -> Result<Self, GitError> {
        use std::os::unix::fs::MetadataExt as _;
        let place = index_path(admin_dir, &brought.path)?;
        let index =
            Index::open(&place).map_err(GitError::library(format!("read {}", place.display())))?;
        let written = place.metadata().map_err(GitError::io("look at", &place))?;
        let recorded = index
            .iter()
            .map(|entry| (entry.path.clone(), entry))
            .collect();
        let written = (written.mtime(), written.mtime_nsec());
        Ok(Look {
            root,
            path: &brought.path,
            recorded,
            written,
            known,
        })
    }

    fn require_as_brought(&self, standard: &Standard) -> Result<(), GitError> {
        let (mut seen, mut open) = (0, vec![(Vec::new(), None)]);
        while let Some((folder, above)) = open.pop() {
            let opened = self.open(&folder)?;
            let rules = Rules::read(&folder, &opened, above, standard)?;
            for (name, is_folder) in
                openat::list(&opened).map_err(GitError::errno("list", path_of(self.path)))?
            {
                let path = join(&folder, &name);
                match self.recorded.get(&path) {
                    Some(entry) if entry.mode == GITLINK => self.require_nested(&path)?,
                    Some(entry) if !is_folder && self.is_same(&opened, &name, entry)? => seen += 1,
                    Some(_) => return Err(self.changed(&path, "was changed")),
                    None if name == b".git" => return Err(self.changed(&path, "is new")),
                    None if standard.is_ignored(&rules, &path, is_folder)? => {}
                    None if is_folder => open.push((path, Some(Rc::clone(&rules)))),
                    None => return Err(self.changed(&path, "is new")),
                }
            }
        }
        let files = self
            .recorded
            .values()
            .filter(|entry| entry.mode != GITLINK)
            .count();
        if seen == files {
            Ok(())
        } else {
            Err(changed(
                self.path,
                "is the folder of a submodule and lacks files",
            ))
        }
    }

    fn open(&self, folder: &[u8]) -> Result<OwnedFd, GitError> {
        let path = join(self.path, folder);
        let path = path.strip_suffix(b"/").unwrap_or(&path);
        match openat::open_folder(self.root, path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                Err(changed(path, "is the folder of a submodule and is gone"))
            }
            opened => opened.map_err(GitError::errno("open", path_of(path))),
        }
    }

    /// Examines the folder of a submodule in this one, unless it was brought and has a look of its
    /// own.
    fn require_nested(&self, path: &[u8]) -> Result<(), GitError> {
        let path = join(self.path, path);
        if self.known.contains(path.as_slice()) {
            Ok(())
        } else {
            require_empty(self.root, &path)
        }
    }

    fn is_same(&self, folder: &OwnedFd, name: &[u8], entry: &IndexEntry) -> Result<bool, GitError> {
        let stat =
            openat::look(folder, name).map_err(GitError::errno("look at", path_of(self.path)))?;
        let Some(stat) = stat else { return Ok(false) };
        let is_older = (seconds(stat.st_mtime), nanoseconds(stat.st_mtime_nsec)) < self.written;
        let is_kind = matches!(
            openat::kind(&stat),
            FileType::RegularFile | FileType::Symlink
        );
        Ok(is_kind && ((is_older && looks_same(&stat, entry)) || has_still(folder, name, entry)))
    }

    fn changed(&self, path: &[u8], how: &str) -> GitError {
        let submodule = path_of(self.path);
        changed(
            &join(self.path, path),
            &format!("{how} in the submodule {}", submodule.display()),
        )
    }
}

fn changed(path: &[u8], how: &str) -> GitError {
    GitError::Unstorable {
        path: path_of(path),
        reason: format!("it {how}, and {WHAT_TO_DO}"),
    }
}

fn make_folder(admin_dir: &Path) -> Result<PathBuf, GitError> {
    let folder = admin_dir.join(FOLDER);
    orchestrate_files::create_folder(&folder).map_err(GitError::io("make", &folder))?;
    Ok(folder)
}
