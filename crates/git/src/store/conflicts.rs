//! Conflicts that are not decided: in git's index, and by the markers in files, whatever program
//! wrote them.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use git2::Index;
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::openat;
use crate::files::openat::path_of;
use crate::repo::worktree::Worktree;

/// The starts of the lines that begin and end a conflict. The lines between sides are not
/// distinctive.
const MARKERS: [&[u8]; 2] = [b"<<<<<<< ", b">>>>>>> "];

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
pub(crate) type Undecided = BTreeMap<PathBuf, Option<usize>>;

/// Removes the paths in conflict from an index in memory, because a tree cannot be written with
/// them.
pub(crate) fn drop_conflicts(index: &mut Index) -> Result<(), GitError> {
    for path in conflicts(index).keys() {
        index
            .conflict_remove(&path_of(path))
            .map_err(GitError::library("drop the conflicts of an index"))?;
    }
    Ok(())
}

/// Fails if a worktree's index has an undecided conflict of a merge that a person started.
pub(crate) fn require_decided(worktree: &Worktree, index: &Index) -> Result<(), GitError> {
    require_none(worktree, undecided(worktree, index)?)
}

/// Fails if there is a file with an undecided conflict.
pub(crate) fn require_none(worktree: &Worktree, files: Undecided) -> Result<(), GitError> {
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
pub(crate) fn undecided(worktree: &Worktree, index: &Index) -> Result<Undecided, GitError> {
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
pub(crate) fn content(worktree: &Worktree, path: &[u8]) -> Result<Option<Vec<u8>>, GitError> {
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

/// Returns the line, from 1, of the first conflict marker that none of the other texts has.
pub(crate) fn first_marker(bytes: &[u8], others: &[Vec<u8>]) -> Option<usize> {
    let known: HashSet<&[u8]> = others
        .iter()
        .flat_map(|other| lines(other))
        .filter(is_marker)
        .collect();
    Some(lines(bytes).position(|line| is_marker(&line) && !known.contains(line))? + 1)
}

fn is_marker(line: &&[u8]) -> bool {
    MARKERS.iter().any(|marker| line.starts_with(marker))
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_lines_that_nobody_had() {
        let table: [(&str, &[&str], Option<usize>); 5] = [
            ("a\n<<<<<<< integration\nb\n", &[], Some(2)),
            (">>>>>>> yours", &["<<<<<<< integration\n"], Some(1)),
            ("=======\n text <<<<<<< HEAD\n<<<<<<<\n", &[], None),
            ("<<<<<<< shown\n", &["a\n<<<<<<< shown\n", ""], None),
            ("<<<<<<< shown\n<<<<<<< HEAD\n", &["<<<<<<< shown"], Some(2)),
        ];
        for (text, others, expected) in table {
            let others: Vec<Vec<u8>> = others
                .iter()
                .map(|other| other.as_bytes().to_vec())
                .collect();
            assert_eq!(first_marker(text.as_bytes(), &others), expected, "{text}");
        }
    }
}
