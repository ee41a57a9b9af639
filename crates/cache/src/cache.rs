//! Finds, stores, counts and removes results.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::entry::{Entry, Identity};
use crate::error::CacheError;
use crate::folder::{Folder, remove};
use crate::recording::Recording;

/// The bytes that all entries may have together: some thousand results of checks.
const LIMIT_BYTES: u64 = 512 << 20;
/// The file with the numbers of hits and misses.
const COUNTS: &str = "counts";

/// The results that are kept for replay.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Folder,
}

/// The result of a look-up.
#[derive(Debug)]
pub enum Lookup {
    /// A result.
    Hit(Entry),
    /// Nothing.
    Miss,
    /// A damaged entry, or something else in its place; it was removed.
    Damaged(PathBuf),
}

/// The contents of the cache, and how often it was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The number of results.
    pub entries: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The size to which they are cut back.
    pub limit_bytes: u64,
    /// How often a result was found.
    pub hits: u64,
    /// How often none was found.
    pub misses: u64,
}

/// The entries that were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// The number of results.
    pub entries: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl Cache {
    /// Opens the cache below the user's state folder; it is created if it is missing.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn open(state: &Path) -> Result<Cache, CacheError> {
        Cache::with_limit(state, LIMIT_BYTES)
    }

    /// Like [`Cache::open`], with another limit.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub fn with_limit(state: &Path, limit_bytes: u64) -> Result<Cache, CacheError> {
        Ok(Cache {
            folder: Folder::open(state.join("cache"), limit_bytes)?,
        })
    }

    /// Finds a result, and counts whether there is one.
    ///
    /// # Errors
    /// Fails if the folder cannot be read or written.
    pub fn look_up(&self, identity: &Identity) -> Result<Lookup, CacheError> {
        let path = self.folder.place(identity);
        let found = match open_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.count(|counts| counts.1 += 1)?;
                return Ok(Lookup::Miss);
            }
            found => found.map_err(CacheError::new("open", &path))?,
        };
        let entry = found.map_or(Ok(None), |file| {
            // The time of its last use decides which entries are removed; a failure only makes this
            // one older.
            let _ = file.set_modified(SystemTime::now());
            Entry::open(file, identity)
        });
        match entry.map_err(CacheError::new("read", &path))? {
            Some(entry) => {
                self.count(|counts| counts.0 += 1)?;
                Ok(Lookup::Hit(entry))
            }
            None => {
                self.count(|counts| counts.1 += 1)?;
                remove(&path)?;
                Ok(Lookup::Damaged(path))
            }
        }
    }

    /// Begins to store a result.
    ///
    /// # Errors
    /// Fails if no file can be created.
    pub fn record(&self, identity: &Identity) -> Result<Recording, CacheError> {
        Recording::begin(&self.folder, identity)
    }

    /// Returns what the cache holds, and how often it was asked.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn statistics(&self) -> Result<Statistics, CacheError> {
        let mut stored = self.folder.stored()?;
        stored.retain(|entry| entry.is_file);
        let mut statistics = Statistics {
            limit_bytes: self.folder.limit_bytes(),
            ..Statistics::default()
        };
        self.count(|counts| (statistics.hits, statistics.misses) = *counts)?;
        statistics.entries = stored.len() as u64;
        statistics.bytes = stored.iter().map(|entry| entry.bytes).sum();
        Ok(statistics)
    }

    /// Removes all results and what is in the place of one, and begins to count anew.
    ///
    /// # Errors
    /// Fails if a file cannot be removed.
    pub fn clear(&self) -> Result<Cleared, CacheError> {
        let mut cleared = Cleared::default();
        for entry in self.folder.stored()? {
            remove(&entry.path)?;
            cleared.entries += u64::from(entry.is_file);
            cleared.bytes += entry.bytes;
        }
        self.count(|counts| *counts = (0, 0))?;
        Ok(cleared)
    }

    /// Changes the numbers of hits and misses, while no other process does.
    fn count(&self, change: impl FnOnce(&mut (u64, u64))) -> Result<(), CacheError> {
        let _locked = self.folder.lock()?;
        let path = self.folder.path().join(COUNTS);
        change_counts(&path, change).map_err(CacheError::new("write", &path))
    }
}

/// Changes the numbers in a file.
fn change_counts(path: &Path, change: impl FnOnce(&mut (u64, u64))) -> std::io::Result<()> {
    let mut file = orchestrate_files::open_or_create(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let mut text = String::new();
    // Numbers that cannot be read begin anew.
    let _ = file.read_to_string(&mut text);
    let mut numbers = text
        .split_whitespace()
        .map(|number| number.parse().unwrap_or(0));
    let before = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let mut counts = before;
    change(&mut counts);
    if counts != before {
        file.rewind()?;
        file.set_len(0)?;
        writeln!(file, "{} {}", counts.0, counts.1)?;
    }
    Ok(())
}

/// Opens a regular file; returns `None` if something else is there. Neither waits for a pipe nor
/// follows a link.
fn open_file(path: &Path) -> std::io::Result<Option<File>> {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        // The kernel's errors for a link, a socket, and a device without a driver.
        Err(Errno::LOOP | Errno::NXIO | Errno::NODEV) => return Ok(None),
        opened => File::from(opened?),
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

#[cfg(test)]
mod tests;
