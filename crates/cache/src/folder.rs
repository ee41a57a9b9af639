//! The folder with all entries, shared by all processes of the user.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use orchestrate_core::hex;
use orchestrate_files::if_there;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};

use crate::entry::{Identity, MAGIC};
use crate::error::CacheError;

/// An entry may have this part of the limit, so that one does not push out most others.
const ENTRY_PART: u64 = 8;
/// After this part of the limit has been stored by one process, it looks whether the folder has
/// become too large: to list a folder with many entries takes much longer than to store one.
const LOOK_PART: u64 = 64;
/// The part of the limit that is left free, so that several processes that store between two looks
/// stay within it.
const FREE_PART: u64 = 16;
/// The part of the limit that is free after room was made.
const ROOM_PART: u64 = 8;
/// After this time, an unfinished entry is taken for one that a killed process left.
pub(crate) const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// The end of the names of entries.
const ENTRY: &str = "entry";
/// The beginning of the names of unfinished entries.
pub(crate) const UNFINISHED: &str = ".part-";
/// The file that a process locks while it removes entries or counts.
const LOCK: &str = "lock";

/// The folder with all entries.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    limit_bytes: u64,
    /// How much this process has stored since it last looked, or more than any limit before it has.
    stored_since: Arc<AtomicU64>,
}

/// A file with a result, or what is in the place of one.
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    pub(crate) is_file: bool,
    /// Its size; 0 if it is no file.
    pub(crate) bytes: u64,
    used: SystemTime,
}

impl Folder {
    /// Opens the folder; it is created if it is missing.
    pub(crate) fn open(path: PathBuf, limit_bytes: u64) -> Result<Folder, CacheError> {
        orchestrate_files::create_folder(&path).map_err(CacheError::new("create", &path))?;
        Ok(Folder {
            path,
            limit_bytes,
            stored_since: Arc::new(AtomicU64::new(u64::MAX / 2)),
        })
    }

    /// Returns the folder's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how large all results may be together.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Returns how large one result may be.
    pub(crate) fn entry_limit(&self) -> u64 {
        self.limit_bytes / ENTRY_PART
    }

    /// Notes that a result of this size was stored, and makes room once enough was stored since the
    /// last time.
    pub(crate) fn grown_by(&self, bytes: u64) -> Result<(), CacheError> {
        let since = self
            .stored_since
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes);
        if since < self.limit_bytes / LOOK_PART {
            return Ok(());
        }
        self.stored_since.store(0, Ordering::Relaxed);
        self.evict()
    }

    /// Removes what killed processes left and, if there is too little room, the results that were
    /// used least recently.
    fn evict(&self) -> Result<(), CacheError> {
        let _locked = self.lock()?;
        self.remove_abandoned()?;
        let mut stored = self.stored()?;
        let all: u64 = stored.iter().map(|entry| entry.bytes).sum();
        if all <= self.limit_bytes - self.limit_bytes / FREE_PART {
            return Ok(());
        }
        stored.sort_by(|one, other| (other.used, &other.path).cmp(&(one.used, &one.path)));
        let mut kept = 0;
        for entry in stored {
            kept += entry.bytes;
            if kept > self.limit_bytes - self.limit_bytes / ROOM_PART {
                remove(&entry.path)?;
            }
        }
        Ok(())
    }

    /// Returns the file of a result.
    pub(crate) fn place(&self, identity: &Identity) -> PathBuf {
        let mut hash = Sha256::new();
        // Entries of another format have other names, so they are neither found nor taken for
        // damaged.
        hash.update(MAGIC);
        for part in identity.parts() {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        self.path.join(format!("{}.{ENTRY}", hex(&hash.finalize())))
    }

    /// Lists all results, and what is in the place of one.
    pub(crate) fn stored(&self) -> Result<Vec<Stored>, CacheError> {
        let mut stored = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(CacheError::new("list", &self.path))? {
            let path = entry.map_err(CacheError::new("list", &self.path))?.path();
            // What another process has just removed is none.
            let Ok(found) = path.symlink_metadata() else {
                continue;
            };
            if path.extension().is_some_and(|extension| extension == ENTRY) {
                let used = found.modified().map_err(CacheError::new("read", &path))?;
                let is_file = found.is_file();
                stored.push(Stored {
                    path,
                    is_file,
                    bytes: if is_file { found.len() } else { 0 },
                    used,
                });
            }
        }
        Ok(stored)
    }

    fn remove_abandoned(&self) -> Result<(), CacheError> {
        for entry in std::fs::read_dir(&self.path)
            .map_err(CacheError::new("list", &self.path))?
            .flatten()
        {
            let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            if is_unfinished && is_abandoned(&entry.path()) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Waits until no other process counts or removes entries; they all do so for moments.
    pub(crate) fn lock(&self) -> Result<File, CacheError> {
        let path = self.path.join(LOCK);
        locked(&path).map_err(CacheError::new("lock", &path))
    }
}

fn locked(path: &Path) -> std::io::Result<File> {
    let file = orchestrate_files::open_or_create(path)?;
    rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
    Ok(file)
}

/// Reports whether a file is older than a process takes to write one.
fn is_abandoned(path: &Path) -> bool {
    if let Ok(found) = path.symlink_metadata()
        && let Ok(modified) = found.modified()
        && let Ok(age) = SystemTime::now().duration_since(modified)
    {
        return age > ABANDONED;
    }
    false
}

/// Removes what another process may have removed; also a folder, which is no entry but in the place
/// of one.
pub(crate) fn remove(path: &Path) -> Result<(), CacheError> {
    if_there(orchestrate_files::remove_folder(path))
        .map(drop)
        .map_err(CacheError::new("remove", path))
}
