//! How much the folders hold that a job may write to.
//!
//! Going through them is dear, so it is done only when the file system has less room than before by a good part of what
//! is allowed, and now and then besides. A job that begins with folders that are full may make room, and gets a little
//! of it to work with.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The kernel's unit of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;
/// What every file takes at least: its own number, and mostly a block.
const LEAST_PER_FILE: u64 = 4096;
/// The share of the limit after which the folders are looked through again.
const SHARE: u64 = 16;
/// What a job may add to folders that are full when it begins, so that it can make room.
const TO_WORK_WITH: u64 = 16 << 20;
/// How long nothing is looked through while the file system shows no need.
const NOW_AND_THEN: Duration = Duration::from_secs(5);
/// How many times longer than one look the time until the next is: looking takes a small part of a processor.
const REST: u32 = 20;

/// Watches over the folders of one job.
pub(super) struct Disk {
    folders: Vec<PathBuf>,
    most: u64,
    /// When the job started, in seconds and nanoseconds since 1970, as file systems write it down.
    started: (i64, i64),
    free_at_start: BTreeMap<u64, u64>,
    taken_at_look: u64,
    looked: Instant,
    rest: Duration,
    /// What is allowed, once it is known how much there was at the start.
    allowed: Option<u64>,
}

impl Disk {
    pub(super) fn new(folders: &[OsString], most: u64) -> Self {
        let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
        let free_at_start = free(&folders);
        let (looked, rest) = (Instant::now(), NOW_AND_THEN);
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started = (since_1970.as_secs().cast_signed(), since_1970.subsec_nanos().into());
        Self { folders, most, started, free_at_start, taken_at_look: 0, looked, rest, allowed: None }
    }

    /// Reports whether the folders hold too much, files without a name that these processes have open included.
    pub(super) fn is_over(&mut self, processes: impl Iterator<Item = i32>) -> bool {
        let taken = self.taken();
        let has_grown = taken.saturating_sub(self.taken_at_look) >= self.most / SHARE;
        if !has_grown && self.looked.elapsed() < self.rest {
            return false;
        }
        let begun = Instant::now();
        let mut found = Found { started: self.started, ..Found::default() };
        self.folders.iter().for_each(|folder| found.add(folder));
        processes.for_each(|pid| found.add_open(pid, &self.free_at_start));
        // Where something cannot be looked through, what the file system has lost is taken for it.
        let held = if found.hides { found.bytes.max(taken) } else { found.bytes };
        (self.looked, self.taken_at_look) = (Instant::now(), taken);
        self.rest = NOW_AND_THEN.max(begun.elapsed() * REST);
        held > *self.allowed.get_or_insert(self.most.max(found.older.saturating_add(TO_WORK_WITH)))
    }

    /// Returns by how much the file systems have less room than at the start, whoever took it.
    fn taken(&self) -> u64 {
        let now = free(&self.folders);
        self.free_at_start
            .iter()
            .map(|(device, before)| before.saturating_sub(*now.get(device).unwrap_or(before)))
            .sum()
    }
}

/// Returns the room on the file systems of some folders, for bytes and for files, by device.
fn free(folders: &[PathBuf]) -> BTreeMap<u64, u64> {
    let room = |folder: &PathBuf| {
        let found = rustix::fs::statvfs(folder).ok()?;
        let bytes = found.f_bfree * found.f_frsize + found.f_ffree * LEAST_PER_FILE;
        Some((folder.symlink_metadata().ok()?.dev(), bytes))
    };
    folders.iter().filter_map(room).collect()
}

#[derive(Default)]
struct Found {
    bytes: u64,
    /// The part that nobody has changed since the start; a job cannot set this time of a file.
    older: u64,
    started: (i64, i64),
    /// Files with several names that were counted, by device and number.
    linked: BTreeSet<(u64, u64)>,
    /// Whether something could not be looked at.
    hides: bool,
}

impl Found {
    /// Adds a file, or a folder with all below it; links are not followed.
    fn add(&mut self, path: &Path) {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            let Ok(found) = path.symlink_metadata() else {
                // It has gone, or its name is too long to be looked at.
                self.hides |= path.as_os_str().len() >= libc::PATH_MAX.cast_unsigned() as usize;
                continue;
            };
            // Build tools give large files several names.
            let is_new = found.is_dir() || found.nlink() < 2 || self.linked.insert((found.dev(), found.ino()));
            let bytes = if is_new { (found.blocks() * BLOCK).max(LEAST_PER_FILE) } else { 0 };
            self.bytes += bytes;
            self.older += if (found.ctime(), found.ctime_nsec()) < self.started { bytes } else { 0 };
            if !found.is_dir() {
                continue;
            }
            match std::fs::read_dir(&path) {
                Ok(entries) => left.extend(entries.flatten().map(|entry| entry.path())),
                Err(error) => self.hides |= error.kind() != std::io::ErrorKind::NotFound,
            }
        }
    }

    fn add_open(&mut self, pid: i32, devices: &BTreeMap<u64, u64>) {
        let entries = match std::fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(entries) => entries,
            Err(error) => {
                self.hides |= error.kind() == std::io::ErrorKind::PermissionDenied;
                return;
            }
        };
        let nameless = entries.flatten().filter_map(|entry| {
            let found = std::fs::metadata(entry.path()).ok()?;
            (found.nlink() == 0 && devices.contains_key(&found.dev())).then_some(found.blocks() * BLOCK)
        });
        self.bytes += nameless.sum::<u64>();
    }
}
