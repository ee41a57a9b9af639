//! A merge that a person started in a worktree, detected in git's index and its `MERGE_HEAD`.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::{ErrorCode, Index};
use orchestrate_core::Oid;
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::openat;
use crate::files::openat::path_of;
use crate::merge::markers::first_marker;
use crate::merge::merge_tree::Merge;
use crate::repo::repository::ours;
use crate::repo::worktree::Worktree;
use crate::worktree::handle::Worktrees;

/// The bits of an index entry's flags with its stage, which is a side of a conflict or 0 without
/// one.
const STAGE: u16 = 0x3000;
/// The position of these bits.
const STAGE_SHIFT: u16 = 12;
/// The stages of both sides of a conflict (2 and 3), as bits: both have the file.
const BOTH_SIDES: u8 = 1 << 2 | 1 << 3;
/// The largest file that is searched for markers.
const MOST_BYTES: u64 = 16 << 20;

/// Files with an undecided conflict, each with the line of its first conflict marker, if any.
type Undecided = BTreeMap<PathBuf, Option<usize>>;

impl Worktrees<'_> {
    /// Checks that no merge that a person started in a worktree has an undecided conflict.
    ///
    /// # Errors
    /// [`GitError::UnfinishedMerge`] with the undecided files.
    pub fn require_finished(&self, worktree: &Worktree) -> Result<(), GitError> {
        let place = worktree.admin_dir().join("index");
        let index =
            Index::open(&place).map_err(GitError::library(format!("read {}", place.display())))?;
        let mut files = undecided(worktree, &index)?;
        files.extend(self.marked(worktree)?);
        require_none(worktree, files)
    }

    /// Returns the files that were in conflict in a merge in progress and still have its markers,
    /// even if they were marked as resolved in git's index.
    fn marked(&self, worktree: &Worktree) -> Result<Undecided, GitError> {
        let mut marked = Undecided::new();
        let Some(other) = self.merged_into(worktree)? else {
            return Ok(marked);
        };
        let head = self.head(worktree)?;
        let Merge::Conflict { files, .. } = self.repo.merging().merge(&head, &other)? else {
            return Ok(marked);
        };
        for path in files.into_iter().map(|file| file.path) {
            if let Some(bytes) = content(worktree, path.as_os_str().as_bytes())?
                && let Some(line) =
                    self.repo
                        .merging()
                        .new_marker(&bytes, &path, [&head, &other])?
            {
                marked.insert(path, Some(line));
            }
        }
        Ok(marked)
    }

    /// Returns the commit that is being merged into a worktree, if there is one.
    fn merged_into(&self, worktree: &Worktree) -> Result<Option<Oid>, GitError> {
        match self
            .repo
            .open_git_dir(worktree.admin_dir())?
            .refname_to_id("MERGE_HEAD")
        {
            Ok(commit) => Ok(Some(ours(commit))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(GitError::library("read which merge is in progress")(error)),
        }
    }
}

/// Removes the paths in conflict from an index in memory, because a tree cannot be written with
/// them.
pub(crate) fn drop_conflicts(index: &mut Index) -> Result<(), GitError> {
    conflicts(index).keys().try_for_each(|path| {
        index
            .conflict_remove(&path_of(path))
            .map_err(GitError::library("drop the conflicts of an index"))
    })
}

/// Fails if a worktree's index has an undecided conflict of a merge that a person started.
pub(crate) fn require_decided(worktree: &Worktree, index: &Index) -> Result<(), GitError> {
    require_none(worktree, undecided(worktree, index)?)
}

fn require_none(worktree: &Worktree, files: Undecided) -> Result<(), GitError> {
    if files.is_empty() {
        return Ok(());
    }
    let named = files.into_iter().map(|(file, line)| match line {
        Some(line) => format!("conflict markers in {}:{line}", file.display()),
        None => file.display().to_string(),
    });
    Err(GitError::UnfinishedMerge {
        path: worktree.path().to_owned(),
        files: named.collect(),
    })
}

/// Returns the files in conflict that are not known to be resolved. A file is resolved if both
/// sides have it, it is text, and it has no markers.
fn undecided(worktree: &Worktree, index: &Index) -> Result<Undecided, GitError> {
    let mut undecided = Undecided::new();
    for (path, sides) in conflicts(index) {
        let content = content(worktree, &path)?;
        let marker = content
            .as_deref()
            .and_then(|bytes| first_marker(bytes, &[]));
        let is_mended = marker.is_none() && content.is_some_and(|bytes| !bytes.contains(&0));
        if sides & BOTH_SIDES != BOTH_SIDES || !is_mended {
            undecided.insert(path_of(&path), marker);
        }
    }
    Ok(undecided)
}

/// Reads a file of a worktree, or returns `None` if it is absent, not a regular file or too large.
fn content(worktree: &Worktree, path: &[u8]) -> Result<Option<Vec<u8>>, GitError> {
    let (folder, name) = openat::split(path);
    let opened = openat::open_folder(worktree.root(), folder);
    match opened.and_then(|folder| openat::read(&folder, name, MOST_BYTES)) {
        Ok(read) => Ok(read.map(|(bytes, _)| bytes)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => Ok(None),
        Err(error) => Err(GitError::errno(
            "look for conflicts in",
            worktree.path().join(path_of(path)),
        )(error)),
    }
}

/// Returns the paths in conflict, each with its stages as bits.
fn conflicts(index: &Index) -> BTreeMap<Vec<u8>, u8> {
    let mut conflicts = BTreeMap::new();
    for entry in index.iter().filter(|entry| entry.flags & STAGE != 0) {
        *conflicts.entry(entry.path).or_default() |= 1 << ((entry.flags & STAGE) >> STAGE_SHIFT);
    }
    conflicts
}
