//! A merge that a person has begun in a worktree, of which git's index tells.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use git2::Index;
use rustix::io::Errno;

use crate::beneath::{self, path_of};
use crate::error::GitError;

/// The bits of an entry's flags that say which side of a conflict it is; none are set where there is no conflict.
const STAGE: u16 = 0x3000;
/// Where those bits begin.
const STAGE_SHIFT: u16 = 12;
/// The two sides of a conflict, as bits: both have the file.
const BOTH_SIDES: u8 = 1 << 2 | 1 << 3;
/// How the lines begin that git puts around a conflict.
const MARKERS: [&[u8]; 2] = [b"<<<<<<< ", b">>>>>>> "];
/// The largest file that is looked through.
const MOST_BYTES: u64 = 16 << 20;

/// Takes the paths in conflict out of an index in memory: there is no tree with them.
pub(crate) fn drop_conflicts(index: &mut Index) -> Result<(), GitError> {
    conflicts(index).keys().try_for_each(|path| {
        index.conflict_remove(&path_of(path)).map_err(GitError::library("drop the conflicts of an index"))
    })
}

/// Names the files in conflict about which nothing tells that somebody has decided: that text which both sides have is
/// without markers does.
pub(crate) fn undecided(root: BorrowedFd<'_>, index: &Index) -> Result<Vec<PathBuf>, Errno> {
    let mut undecided = Vec::new();
    for (path, sides) in conflicts(index) {
        let (folder, name) = beneath::split(&path);
        let content =
            match beneath::open_folder(root, folder).and_then(|folder| beneath::read(&folder, name, MOST_BYTES)) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => None,
                read => read?.map(|(bytes, _)| bytes),
            };
        if sides & BOTH_SIDES != BOTH_SIDES || !content.is_some_and(|bytes| is_text_without_markers(&bytes)) {
            undecided.push(path_of(&path));
        }
    }
    Ok(undecided)
}

/// Gives the paths in conflict, each with the sides that have it.
fn conflicts(index: &Index) -> BTreeMap<Vec<u8>, u8> {
    let mut conflicts = BTreeMap::new();
    for entry in index.iter().filter(|entry| entry.flags & STAGE != 0) {
        *conflicts.entry(entry.path).or_default() |= 1 << ((entry.flags & STAGE) >> STAGE_SHIFT);
    }
    conflicts
}

fn is_text_without_markers(bytes: &[u8]) -> bool {
    let is_marker = |line: &[u8]| MARKERS.iter().any(|marker| line.starts_with(marker));
    !bytes.contains(&0) && !bytes.split(|byte| *byte == b'\n').any(is_marker)
}
