//! Remembers which files of a worktree are copies of the user's, so that a copy which nothing has
//! changed is never taken for work: the user may have changed or deleted the original since.
//!
//! A note in git's entry for the worktree, which no confined command can write, names each copy
//! with its size, its number and its times. A program can set the time of modification, but not
//! that of the change itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use orchestrate_files::if_there;
use rustix::fs::Stat;

use crate::error::GitError;
use crate::files::openat;
use crate::repo::worktree::Worktree;

/// The name of the note.
const NOTE: &str = "orchestrate-copies";

/// What identifies a file that has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unchanged {
    size: i64,
    number: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The copies in a worktree, as they were made.
#[derive(Debug, Default)]
pub(crate) struct Copies(BTreeMap<Vec<u8>, Unchanged>);

impl Copies {
    /// Reads the note of a worktree; without one, there are no copies.
    pub(crate) fn read(worktree: &Worktree) -> Result<Self, GitError> {
        let path = note(worktree);
        let bytes = if_there(std::fs::read(&path)).map_err(GitError::io("read", path))?;
        Ok(bytes.map_or_else(Self::default, |bytes| Self::parse(&bytes)))
    }

    /// Adds files that were just copied, as they are now.
    pub(crate) fn add(&mut self, worktree: &Worktree, paths: &[Vec<u8>]) -> Result<(), GitError> {
        for path in paths {
            let failed = GitError::errno("look at", worktree.path().join(openat::path_of(path)));
            if let Some(stat) = openat::look(worktree.root(), path).map_err(failed)? {
                self.0.insert(path.clone(), Unchanged::from_stat(&stat));
            }
        }
        let path = note(worktree);
        orchestrate_files::write(&path, &self.format()).map_err(GitError::io("write", &path))
    }

    /// Reports whether a file is a copy that nothing has changed.
    pub(crate) fn has_unchanged(&self, path: &[u8], stat: &Stat) -> bool {
        self.0.get(path) == Some(&Unchanged::from_stat(stat))
    }

    fn format(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (
            path,
            Unchanged {
                size,
                number,
                modified,
                changed,
            },
        ) in &self.0
        {
            bytes.extend_from_slice(path);
            let facts = format!(
                "{size} {number} {} {} {} {}",
                modified.0, modified.1, changed.0, changed.1
            );
            bytes.push(0);
            bytes.extend_from_slice(facts.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// Reads what [`format`](Self::format) has written; what is damaged counts as no copy.
    fn parse(bytes: &[u8]) -> Self {
        let mut copies = BTreeMap::new();
        let mut parts = bytes.split(|byte| *byte == 0);
        while let (Some(path), Some(facts)) = (parts.next(), parts.next()) {
            if let Some(unchanged) = std::str::from_utf8(facts).ok().and_then(Unchanged::parse) {
                copies.insert(path.to_vec(), unchanged);
            }
        }
        Self(copies)
    }
}

impl Unchanged {
    fn from_stat(stat: &Stat) -> Self {
        Self {
            size: stat.st_size,
            number: stat.st_ino,
            modified: (stat.st_mtime, stat.st_mtime_nsec.cast_signed()),
            changed: (stat.st_ctime, stat.st_ctime_nsec.cast_signed()),
        }
    }

    fn parse(facts: &str) -> Option<Self> {
        let mut words = facts.split(' ');
        let (size, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let mut time = || Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?));
        let (modified, changed) = (time()?, time()?);
        Some(Self {
            size,
            number,
            modified,
            changed,
        })
    }
}

fn note(worktree: &Worktree) -> PathBuf {
    worktree.admin_dir().join(NOTE)
}
