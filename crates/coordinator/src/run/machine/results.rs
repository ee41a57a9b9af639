//! The stored results of tools on this machine, shared by all agents of a run and by all runs of
//! the user.
//!
//! Nothing here can make a call fail: what cannot be read or stored is said once, and the call
//! runs.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use orchestrate_cache::{Cache, CacheError, Identity, Lookup, Stream};
use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::CacheMode;
use orchestrate_core::{Oid, RunSettings};
use orchestrate_tools::FileStamp;

/// How many contents of files are remembered; a worktree has fewer files that git does not know.
const REMEMBERED: usize = 200_000;
/// A file that was changed within this time may change again without another time stamp: coarser
/// than any file system's clock.
const STILL_FRESH: Duration = Duration::from_secs(2);

/// The stored results of tools.
pub(crate) struct Results {
    cache: Option<Cache>,
    mode: CacheMode,
    never: BTreeSet<String>,
    /// The ids of contents that were read, by the file's metadata.
    read: Mutex<HashMap<FileStamp, Oid>>,
    warn: fn(&str),
    has_said_unusable: AtomicBool,
    has_said_damaged: AtomicBool,
}

impl Results {
    /// Opens the user's cache, unless the run does not use it.
    pub(crate) fn open(state_dir: &Path, settings: &RunSettings, warn: fn(&str)) -> Results {
        let mut results = Results {
            cache: None,
            mode: settings.cache,
            never: settings.never_replayed.iter().cloned().collect(),
            read: Mutex::default(),
            warn,
            has_said_unusable: AtomicBool::new(false),
            has_said_damaged: AtomicBool::new(false),
        };
        if settings.cache != CacheMode::Off {
            results.cache = results.usable(Cache::open(state_dir));
        }
        results
    }

    /// Returns how results of a tool are used.
    pub(crate) fn mode(&self, tool: &str) -> CacheMode {
        if self.cache.is_none() || self.never.contains(tool) {
            CacheMode::Off
        } else {
            self.mode
        }
    }

    /// Returns a stored result.
    pub(crate) fn find(&self, identity: &Identity) -> Option<Vec<u8>> {
        match self.usable(self.cache.as_ref()?.look_up(identity))? {
            Lookup::Hit(mut entry) => {
                let (mut result, mut piece) = (Vec::new(), Vec::new());
                while let Some(stream) = entry.next(&mut piece).ok()? {
                    if stream == Stream::Output {
                        result.append(&mut piece);
                    }
                }
                Some(result)
            }
            Lookup::Damaged(path) => {
                if !self.has_said_damaged.swap(true, Ordering::Relaxed) {
                    let path = path.display();
                    (self.warn)(&format!(
                        "a stored result was damaged and has been removed, and others may be: \
                         {path}"
                    ));
                }
                None
            }
            Lookup::Miss => None,
        }
    }

    /// Stores a result.
    pub(crate) fn store(&self, identity: &Identity, result: &[u8]) {
        let Some(cache) = &self.cache else { return };
        let stored = cache.record(identity).and_then(|mut recording| {
            recording.add(Stream::Output, result);
            recording.keep()
        });
        self.usable(stored);
    }

    /// Returns the remembered id of a file's content.
    pub(crate) fn content(&self, stamp: &FileStamp) -> Option<Oid> {
        self.read.lock().get(stamp).cloned()
    }

    /// Remembers the id of a content that was read just now, unless the file may still change
    /// unnoticed.
    pub(crate) fn remember(&self, stamp: &FileStamp, id: &Oid) {
        let since_1970 = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let before = since_1970.saturating_sub(STILL_FRESH);
        let newest = stamp.changed.max(stamp.modified).0;
        if u64::try_from(newest).is_ok_and(|newest| newest < before.as_secs()) {
            let mut read = self.read.lock();
            if read.len() >= REMEMBERED {
                read.clear();
            }
            read.insert(*stamp, id.clone());
        }
    }

    /// Returns what the cache gave; a failure is said once.
    fn usable<T>(&self, given: Result<T, CacheError>) -> Option<T> {
        match given {
            Ok(given) => Some(given),
            Err(error) => {
                if !self.has_said_unusable.swap(true, Ordering::Relaxed) {
                    (self.warn)(&format!(
                        "failed to {error}; calls run without the cache where it cannot be used"
                    ));
                }
                None
            }
        }
    }
}
