//! Returns a conflict to its author: the merge, with diff3 markers, is written into the worktree.
//!
//! Files are written one by one below the worktree's descriptor from git's objects. No program is
//! run, and only files that the merge changed are touched. It can be repeated: a file that already
//! has the merge's content is left alone.
//!
//! Where git cannot write markers (a binary file, a file that one side deleted, a file where the
//! other side has a folder), the files do not show whether their author has made a decision. They
//! get a special modification time, which changes when they are written or touched.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::Repository;
use orchestrate_core::Oid;
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::index_entry::unread_entry;
use crate::files::openat;
use crate::files::openat::path_of;
use crate::merge::merge_tree::{ConflictFile, Merge, Merging, Side};
use crate::repo::repository::{ours, theirs};
use crate::repo::worktree::Worktree;
use crate::store::conflicts::first_marker;
use crate::store::overlay::entry;

/// The modification time of an undecided file in conflict without markers: a second in the year
/// 2000, which no tool writes by itself and every archive format can represent.
const UNDECIDED_SECONDS: i64 = 946_684_801;
/// The mode of an executable file in a tree.
const EXECUTABLE: i32 = 0o100_755;
/// The mode of a submodule in a tree.
const SUBMODULE: i32 = 0o160_000;
/// The mode of a link in a tree.
const LINK: i32 = 0o120_000;

/// The merge that was written into an author's worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenConflict {
    /// The merged tree.
    pub tree: Oid,
    /// The files in conflict; empty if the merge turned out to be clean.
    pub files: Vec<ConflictFile>,
    /// Git's messages about the conflicts.
    pub messages: Vec<String>,
}

impl Merging<'_> {
    /// Writes the merge of `candidate` (the worktree's commit) into `target` to the worktree, with
    /// markers.
    ///
    /// Where the merge changes something, the worktree must have `candidate`'s files or, if a
    /// killed attempt is repeated, some of the merge's. The commit that repairs the conflict must
    /// get both commits as parents. The ref `anchor` is set to the merged tree. The files are added
    /// to the worktree's index, because otherwise those that git ignores would be missing from the
    /// next snapshot.
    ///
    /// # Errors
    /// [`GitError::Unstorable`] if a file to be written has other content, which is not
    /// overwritten.
    pub fn write_conflict(
        &self,
        worktree: &Worktree,
        target: &Oid,
        candidate: &Oid,
        anchor: &str,
    ) -> Result<WrittenConflict, GitError> {
        self.write_merge(worktree, Side::integration(target), candidate, anchor)
    }

    /// Like [`Merging::write_conflict`], with another name for the target in the markers.
    ///
    /// # Errors
    /// As [`Merging::write_conflict`].
    pub fn write_merge(
        &self,
        worktree: &Worktree,
        target: Side<'_>,
        candidate: &Oid,
        anchor: &str,
    ) -> Result<WrittenConflict, GitError> {
        let (tree, files, messages) = match self.merge_named(target, candidate)? {
            Merge::Clean { tree } => (tree, Vec::new(), Vec::new()),
            Merge::Conflict {
                tree,
                files,
                messages,
            } => (tree, files, messages),
        };
        self.repo
            .advance(anchor, self.repo.read_ref(anchor)?.as_ref(), &tree)?;
        let current = self.repo.store().current_tree(worktree)?;
        let handle = self.repo.handle()?;
        let mut paths = Vec::new();
        for path in self.repo.store().changed_paths(candidate, &tree)? {
            let held = entry(&handle, &current, &path)?;
            if held == entry(&handle, &tree, &path)? {
                continue;
            }
            if held != entry(&handle, candidate, &path)? {
                let reason = "the worktree holds a change of it that was not committed".to_owned();
                return Err(GitError::Unstorable { path, reason });
            }
            paths.push(path);
        }
        self.index_files(worktree, &tree, &paths)?;
        // Files are removed before others are written, because a folder may take the place of a
        // file.
        let wanted: Vec<_> = paths
            .iter()
            .map(|path| Ok((path, entry(&handle, &tree, path)?)))
            .collect::<Result<_, GitError>>()?;
        for (path, _) in wanted.iter().filter(|(_, entry)| entry.is_none()) {
            remove(worktree, path)?;
        }
        for (path, entry) in wanted {
            if let Some((oid, mode)) = entry.filter(|(_, mode)| *mode != SUBMODULE) {
                write(&handle, worktree, path, (oid, mode))?;
            }
        }
        self.repo.worktrees().bring_referred(worktree)?;
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let marked = self.remaining_markers(&tree, &paths, [target.commit, candidate])?;
        for path in paths
            .iter()
            .filter(|path| !marked.iter().any(|(marked, _)| marked == *path))
        {
            mark_undecided(worktree, path)?;
        }
        Ok(WrittenConflict {
            tree,
            files,
            messages,
        })
    }

    /// Lists which of the files without markers are exactly as [`Merging::write_conflict`] left
    /// them: neither written nor touched nor deleted since.
    ///
    /// # Errors
    /// If the metadata of one of them cannot be read.
    pub fn untouched(
        &self,
        worktree: &Worktree,
        files: &[ConflictFile],
    ) -> Result<Vec<ConflictFile>, GitError> {
        let mut untouched = Vec::new();
        for file in files {
            if is_undecided(worktree, &file.path)? {
                untouched.push(file.clone());
            }
        }
        Ok(untouched)
    }

    /// Lists which of the files have conflict markers in a tree, each with the line of its first
    /// one (counted from 1). Marker lines that one of the two sides also has do not count. For a
    /// link, its target path is searched.
    ///
    /// # Errors
    /// If the tree or a side is missing.
    pub fn remaining_markers(
        &self,
        tree: &Oid,
        files: &[PathBuf],
        sides: [&Oid; 2],
    ) -> Result<Vec<(PathBuf, usize)>, GitError> {
        let mut remaining = Vec::new();
        for path in files {
            if let Some(bytes) = self.repo.store().read_stored(tree, path)?
                && let Some(line) = self.new_marker(&bytes, path, sides)?
            {
                remaining.push((path.clone(), line));
            }
        }
        Ok(remaining)
    }

    /// Returns the line, from 1, of the first conflict marker that neither side has in the file at
    /// a path.
    pub(crate) fn new_marker(
        &self,
        bytes: &[u8],
        path: &Path,
        sides: [&Oid; 2],
    ) -> Result<Option<usize>, GitError> {
        if first_marker(bytes, &[]).is_none() {
            return Ok(None);
        }
        let [one, other] = sides.map(|side| self.repo.store().read_stored(side, path));
        let sides: Vec<Vec<u8>> = [one?, other?].into_iter().flatten().collect();
        Ok(first_marker(bytes, &sides))
    }

    /// Sets entries of a worktree's index to those of a tree, without metadata, so that the files
    /// are read at the next staging.
    fn index_files(
        &self,
        worktree: &Worktree,
        tree: &Oid,
        paths: &[PathBuf],
    ) -> Result<(), GitError> {
        let (handle, place) = (self.repo.handle()?, worktree.admin_dir().join("index"));
        let failed = GitError::library(format!("write {}", place.display()));
        let mut index = git2::Index::open(&place).map_err(&failed)?;
        for path in paths {
            match entry(&handle, tree, path)? {
                Some((id, mode)) => {
                    let mode = u32::try_from(mode).unwrap_or_default();
                    index
                        .add(&unread_entry(path.as_os_str().as_bytes(), mode, id))
                        .map_err(&failed)?;
                }
                None if index.get_path(path, 0).is_some() => {
                    index.remove(path, 0).map_err(&failed)?
                }
                None => {}
            }
        }
        index.write().map_err(&failed)
    }
}

/// Opens the folder of a file in conflict. Returns `None` if it is absent or something else is in
/// its place.
fn folder_of<'p>(
    worktree: &Worktree,
    path: &'p Path,
) -> Result<Option<(OwnedFd, &'p [u8])>, GitError> {
    let (folder, name) = openat::split(path.as_os_str().as_bytes());
    match openat::open_folder(worktree.root(), folder) {
        Ok(opened) => Ok(Some((opened, name))),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(GitError::errno(
            "open",
            worktree.path().join(path_of(folder)),
        )(error)),
    }
}

fn mark_undecided(worktree: &Worktree, path: &Path) -> Result<(), GitError> {
    let Some((folder, name)) = folder_of(worktree, path)? else {
        return Ok(());
    };
    match openat::set_modified(&folder, name, UNDECIDED_SECONDS) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(GitError::errno(
            "set the time of",
            worktree.path().join(path),
        )(error)),
    }
}

fn is_undecided(worktree: &Worktree, path: &Path) -> Result<bool, GitError> {
    let Some((folder, name)) = folder_of(worktree, path)? else {
        return Ok(false);
    };
    let found = openat::look(&folder, name)
        .map_err(GitError::errno("look at", worktree.path().join(path)))?;
    Ok(found.is_some_and(|stat| stat.st_mtime == UNDECIDED_SECONDS))
}

fn remove(worktree: &Worktree, path: &Path) -> Result<(), GitError> {
    let failed = GitError::errno("remove", worktree.path().join(path));
    let Some((opened, name)) = folder_of(worktree, path)? else {
        return Ok(());
    };
    openat::remove_file(&opened, name).map_err(&failed)?;
    let (folder, _) = openat::split(path.as_os_str().as_bytes());
    openat::remove_empty_folders(worktree.root(), folder).map_err(&failed)
}

fn write(
    repository: &Repository,
    worktree: &Worktree,
    path: &Path,
    entry: (git2::Oid, i32),
) -> Result<(), GitError> {
    let (oid, mode) = entry;
    let oid_text = ours(oid);
    let blob = repository
        .find_blob(theirs(&oid_text)?)
        .map_err(GitError::library(format!("read {oid}")))?;
    let (folder, name) = openat::split(path.as_os_str().as_bytes());
    let failed = || {
        GitError::errno(
            "write",
            worktree.path().join(path_of(path.as_os_str().as_bytes())),
        )
    };
    let opened = openat::make_folder(worktree.root(), folder).map_err(failed())?;
    match mode {
        LINK => openat::write_link(&opened, name, blob.content()).map_err(failed()),
        _ => openat::write(&opened, name, blob.content(), mode == EXECUTABLE).map_err(failed()),
    }
}
