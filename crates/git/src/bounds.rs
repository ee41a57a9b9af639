//! What git and libgit2 are let read of others' patterns: plain files, and none that takes them for ever.
//!
//! Git tries each `**/` of a pattern both ways, so its time doubles with every one, and neither of the two can be
//! stopped from within; a pipe in the place of such a file lets both wait without end. So the files of patterns of a
//! commit, of the user's checkout and of an agent's worktree are held against these bounds before git reads them.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use git2::Repository;
use rustix::fs::FileType;

use crate::beneath::{self, path_of};
use crate::error::GitError;
use crate::room::read_plain;

/// The names of files of patterns.
const FILES: [&[u8]; 3] = [b".gitattributes", b".gitignore", b".worktreeinclude"];
/// The most bytes of one: the longest known has a few thousand lines.
pub(crate) const MAX_BYTES: u64 = 1 << 20;
/// The most lines of one: git holds each path against each line.
const MAX_LINES: usize = 20_000;
/// The most `**` of one line: each doubles the time, and nobody writes more than three.
const MAX_WAYS: usize = 8;

/// A file of patterns that git should not read.
pub(crate) struct Excess {
    /// Its path in the checkout.
    pub(crate) path: PathBuf,
    /// Why not.
    pub(crate) reason: String,
}

/// Reports whether git reads patterns from files of this name.
pub(crate) fn is_patterns(name: &[u8]) -> bool {
    FILES.contains(&name)
}

/// Says why git should not read a file of patterns; none if it may.
pub(crate) fn excess(text: &[u8]) -> Option<String> {
    if text.len() as u64 > MAX_BYTES {
        return Some(format!("it has {} bytes, and {MAX_BYTES} are read", text.len()));
    }
    let lines = text.split(|byte| *byte == b'\n').zip(1_usize..);
    for (line, number) in lines {
        let ways = ways(line);
        if ways > MAX_WAYS {
            return Some(format!(
                "its line {number} has {ways} `**`, and git takes for ever with more than {MAX_WAYS}"
            ));
        }
        if number > MAX_LINES {
            return Some(format!("it has more than {MAX_LINES} lines, and git holds every path against each"));
        }
    }
    None
}

/// Says the same of the file of patterns in a commit's tree.
pub(crate) fn excess_of_blob(repository: &Repository, id: git2::Oid) -> Result<Option<String>, GitError> {
    let failed = || GitError::library("read a file of patterns");
    let (bytes, _) = repository.odb().and_then(|odb| odb.read_header(id)).map_err(failed())?;
    if bytes as u64 > MAX_BYTES {
        return Ok(Some(format!("it has {bytes} bytes, and {MAX_BYTES} are read")));
    }
    Ok(excess(repository.find_blob(id).map_err(failed())?.content()))
}

/// Finds a file of patterns that git cannot read in bounded time in a checkout, below the folders that hold tracked
/// files.
pub(crate) fn excess_below(root: &Path, index: &git2::Index) -> Result<Option<Excess>, GitError> {
    let mut folders = BTreeSet::from([Vec::new()]);
    for entry in index.iter() {
        let mut folder = beneath::split(&entry.path).0;
        while !folder.is_empty() && folders.insert(folder.to_vec()) {
            folder = beneath::split(folder).0;
        }
    }
    let opened_root = beneath::open_root(root).map_err(GitError::errno("open", root))?;
    for folder in folders {
        // What was deleted or replaced has no patterns for git either.
        let Ok(opened) = beneath::open_folder(&opened_root, &folder) else { continue };
        for name in FILES {
            if let Some(reason) = excess_in(&opened, name)? {
                return Ok(Some(Excess { path: path_of(&beneath::join(&folder, name)), reason }));
            }
        }
    }
    Ok(None)
}

/// Says why git should not read a file of patterns in an open folder; none if it may, or if there is none.
pub(crate) fn excess_in(folder: impl AsFd, name: &[u8]) -> Result<Option<String>, GitError> {
    let failed = || GitError::errno("read", path_of(name));
    let Some(stat) = beneath::look(&folder, name).map_err(failed())? else { return Ok(None) };
    match beneath::kind(&stat) {
        FileType::RegularFile => {}
        // Git passes over a folder, and over a link in the place of the first two.
        FileType::Directory => return Ok(None),
        FileType::Symlink if name != b".worktreeinclude" => return Ok(None),
        FileType::Symlink => return Ok(Some("it is a link, and links are not followed".to_owned())),
        _ => return Ok(Some("it is no regular file".to_owned())),
    }
    match beneath::read(&folder, name, MAX_BYTES) {
        Ok(Some((text, _))) => Ok(excess(&text)),
        Ok(None) => Ok(Some(format!("it has more than {MAX_BYTES} bytes"))),
        Err(error) => Err(failed()(error)),
    }
}

/// Reads a file of patterns of the user's own, which may be a link; none if there is none.
pub(crate) fn read_own(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let Some(bytes) = read_plain(path)? else { return Ok(None) };
    match excess(&bytes) {
        Some(reason) => Err(GitError::Unstorable { path: path.to_owned(), reason }),
        None => Ok(Some(bytes)),
    }
}

/// Counts the runs of two stars and more.
fn ways(line: &[u8]) -> usize {
    line.split(|byte| *byte != b'*').filter(|stars| stars.len() > 1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_people_write_are_read_and_others_are_not() {
        let lines = "x\n".repeat(MAX_LINES + 1);
        let bytes = "x".repeat(usize::try_from(MAX_BYTES).unwrap() + 1);
        let table = [
            ("*.o\n/target/\n**/a/**/b/**\n", None),
            ("a\n# **\n**/**/**/**/**/**/**/**/x\n", None),
            (&format!("a\n{}b text\n", "**/".repeat(40)), Some("its line 2 has 40 `**`")),
            (&lines, Some("it has more than 20000 lines")),
            (&bytes, Some("it has 1048577 bytes")),
        ];
        for (text, expected) in table {
            let said = excess(text.as_bytes());
            assert_eq!(said.is_some(), expected.is_some(), "{said:?}");
            assert!(said.unwrap_or_default().starts_with(expected.unwrap_or_default()));
        }
    }
}
