//! Measures what the folders that a job may write to hold.
//!
//! A scan is expensive, so an account is kept from one job to the next: what the folders held at
//! the last scan, plus all that their file systems have lost since, whichever process took it. That
//! is never too low. The folders are scanned only if it is over the limit, and now and then
//! besides, because other processes may free as much as a job takes. A job that starts with full
//! folders may free space and gets a little to work with, but only once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::disk_usage::{Account, Over, Space};
use crate::helper::protocol::Spec;
use crate::helper::usage::memory::{NAMELESS, has_descriptors_waiting, has_exited, until_visible};
use crate::helper::usage::tree::has_ended;
use crate::sys;

/// The kernel's unit of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;
/// The minimum that is counted for a file: it takes an inode, and mostly a block.
const LEAST_PER_FILE: u64 = 4096;
/// The divisor of the limit that gives the growth after which folders that may be full are scanned
/// again at once.
const SHARE: u64 = 16;
/// How far jobs that start with full folders may exceed the limit, so that they can free space.
const TO_WORK_WITH: Space = Space {
    bytes: 16 << 20,
    files: 1 << 10,
};
/// The minimum interval between scans, in running time of jobs, while the file system shows no need
/// for one.
const NOW_AND_THEN: Duration = Duration::from_secs(5);
/// The pause after a scan, in multiples of the scan's duration: scanning takes a small part of a
/// processor.
const REST: u32 = 20;
/// The suffix of the name of a mapped file that was unlinked (proc_pid_maps(5)).
const UNLINKED: &str = " (deleted)";

/// Watches the folders of one job.
pub(crate) struct Disk {
    folders: Vec<PathBuf>,
    /// The folder among them that is removed with the job.
    scratch: Option<PathBuf>,
    most: Space,
    account: Account,
    /// The space that they held at the start; `None` if that was not measured.
    at_start: Option<Space>,
    /// The growth in the account at the start; nothing after a scan.
    grown_before: Space,
    /// The start of the running time that the account does not contain yet.
    since: Instant,
    /// The free space when the account's balance was computed.
    free_at_balance: BTreeMap<u64, Space>,
}

impl Disk {
    /// Starts with the account of the previous job, and scans if there is none or it may be over
    /// the limit.
    ///
    /// # Errors
    /// As all that looks: if a file system cannot be asked for its space, what is taken of it is
    /// unknown.
    pub(crate) fn new(spec: &Spec, most: Space) -> io::Result<Self> {
        let folders: Vec<PathBuf> = spec.disk_folders.iter().map(PathBuf::from).collect();
        let free_at_balance = free(&folders)?;
        let mut disk = Self {
            scratch: spec.scratch.as_ref().map(PathBuf::from),
            account: spec.disk_known.clone().unwrap_or_default(),
            folders,
            most,
            at_start: None,
            grown_before: Space::default(),
            since: Instant::now(),
            free_at_balance,
        };
        disk.note()?;
        disk.grown_before = disk.account.grown;
        if spec.disk_known.is_none() || disk.account.bound().over(most).is_some() {
            disk.at_start = Some(disk.look(std::iter::empty())?);
        }
        Ok(disk)
    }

    /// Reports whether the job started without space for a single byte, so that it may only free
    /// some.
    pub(crate) fn has_no_room(&self) -> bool {
        self.at_start
            .is_some_and(|held| held.bytes >= self.most.plus(TO_WORK_WITH).bytes)
    }

    /// Returns what the folders hold too much of, including unlinked files that these processes
    /// hold.
    pub(crate) fn is_over(
        &mut self,
        processes: impl Iterator<Item = i32>,
    ) -> io::Result<Option<Over>> {
        self.note()?;
        let may_be_over = self.account.bound().over(self.most).is_some();
        let grown = self.account.grown;
        let has_grown = grown.bytes >= self.most.bytes / SHARE
            || grown.files >= self.most.files / SHARE
            || self.rested() >= self.account.look * REST;
        let has_to_look = self.is_time() || may_be_over && has_grown;
        if !has_to_look {
            return Ok(None);
        }
        let allowed = match self.at_start {
            Some(held) => held.allowed_from(self.most, TO_WORK_WITH),
            None => self.most,
        };
        Ok(self.look(processes)?.over(allowed))
    }

    /// Returns what a job that has ended leaves too much of, and more than there was at its start.
    pub(crate) fn ends_over(&mut self) -> io::Result<Option<Over>> {
        self.note()?;
        // Other processes may have freed as much in the meantime.
        let written = Space {
            bytes: sys::used_by_children().written_bytes,
            files: 0,
        };
        self.account.grown = self.account.grown.max(self.grown_before.plus(written));
        if self.account.bound().over(self.most).is_none() && !self.is_time() {
            return Ok(None);
        }
        let scratch = self.scratch.take();
        self.folders
            .retain(|folder| Some(folder) != scratch.as_ref());
        Ok(self
            .look(std::iter::empty())?
            .left_over(self.most, self.at_start))
    }

    /// Returns the account for the next job.
    pub(crate) fn account(mut self) -> io::Result<Account> {
        self.note()?;
        let balance = self.balance()?;
        Ok(Account {
            rested: self.rested(),
            balance,
            ..self.account
        })
    }

    fn rested(&self) -> Duration {
        self.account.rested.saturating_add(self.since.elapsed())
    }

    fn is_time(&self) -> bool {
        self.rested() >= NOW_AND_THEN.max(self.account.look * REST)
    }

    /// Adds to the account what the file systems have lost since the last call. Gains are ignored,
    /// because other processes may have caused them.
    fn note(&mut self) -> io::Result<()> {
        let now = free(&self.folders)?;
        for (device, room) in &now {
            let before = self.account.free.get(device).unwrap_or(room);
            self.account.grown = self.account.grown.plus(before.minus(*room));
        }
        self.account.free = now;
        Ok(())
    }

    /// Returns what the folders can hold at most, provided that only these jobs have used their
    /// file systems.
    fn balance(&self) -> io::Result<Space> {
        Ok(self
            .account
            .balance
            .plus(sum_of(&self.free_at_balance))
            .minus(sum_of(&free(&self.folders)?)))
    }

    /// Scans the folders and returns what they hold.
    fn look(&mut self, processes: impl Iterator<Item = i32>) -> io::Result<Space> {
        let begun = Instant::now();
        let devices = free(&self.folders)?;
        let mut in_folders = Found::default();
        for folder in &self.folders {
            in_folders.add(folder);
        }
        let processes: Vec<i32> = processes.collect();
        let found = until_visible(
            || in_folders.with_nameless(&processes, &devices),
            |found| found.hides && !in_folders.hides,
        );
        // If something could not be scanned, all that the file system has lost is counted.
        let held = if found.hides {
            found.held.max(self.balance()?)
        } else {
            found.held
        };
        (self.since, self.grown_before) = (Instant::now(), Space::default());
        self.account = Account {
            held,
            balance: held,
            free: devices,
            look: begun.elapsed(),
            ..Account::default()
        };
        self.free_at_balance.clone_from(&self.account.free);
        Ok(held)
    }
}

fn sum_of(free: &BTreeMap<u64, Space>) -> Space {
    free.values().copied().fold(Space::default(), Space::plus)
}

/// Returns the free space on the file systems of some folders, by device; a file takes some bytes,
/// too. A file system that makes room for files as needed has none that is free, and a folder that
/// was removed holds nothing.
fn free(folders: &[PathBuf]) -> io::Result<BTreeMap<u64, Space>> {
    let mut all = BTreeMap::new();
    for folder in folders {
        let device = match folder.symlink_metadata() {
            Ok(found) => found.dev(),
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let found = rustix::fs::statvfs(folder)?;
        let bytes = found.f_bfree * found.f_frsize + found.f_ffree * LEAST_PER_FILE;
        all.insert(
            device,
            Space {
                bytes,
                files: found.f_ffree,
            },
        );
    }
    Ok(all)
}

#[derive(Clone, Default)]
struct Found {
    held: Space,
    /// Files with several names or without one that were counted, by device and inode number.
    counted: BTreeSet<(u64, u64)>,
    /// Whether something could not be scanned.
    hides: bool,
}

impl Found {
    /// Adds a file, or a folder with everything below it; symbolic links are not followed.
    fn add(&mut self, path: &Path) {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            let found = match path.symlink_metadata() {
                Ok(found) => found,
                Err(error) => {
                    // It was removed, or cannot be scanned, as if its path is too long.
                    self.hides |= error.kind() != ErrorKind::NotFound;
                    continue;
                }
            };
            // Build tools give large files several names.
            let is_new = found.is_dir()
                || found.nlink() < 2
                || self.counted.insert((found.dev(), found.ino()));
            if is_new {
                self.count((found.blocks() * BLOCK).max(LEAST_PER_FILE));
            }
            if !found.is_dir() {
                continue;
            }
            match std::fs::read_dir(&path) {
                Ok(entries) => left.extend(entries.flatten().map(|entry| entry.path())),
                Err(error) => self.hides |= error.kind() != ErrorKind::NotFound,
            }
        }
    }

    /// Returns this with the unlinked files that processes have open or mapped.
    fn with_nameless(&self, processes: &[i32], devices: &BTreeMap<u64, Space>) -> Self {
        let mut found = self.clone();
        for pid in processes {
            found.add_nameless(*pid, devices);
        }
        found
    }

    /// Adds the unlinked files that a process has open or mapped.
    fn add_nameless(&mut self, pid: i32, devices: &BTreeMap<u64, Space>) {
        if has_exited(pid) {
            return;
        }
        match std::fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(entries) => {
                for entry in entries.flatten() {
                    self.add_unlinked(std::fs::metadata(entry.path()), devices);
                    self.hides |= has_descriptors_waiting(pid, &entry);
                }
            }
            Err(error) => self.missed(&error),
        }
        match std::fs::read_to_string(format!("/proc/{pid}/maps")) {
            Ok(text) => {
                for range in text.lines().filter_map(unlinked_mapping) {
                    let file = format!("/proc/{pid}/map_files/{range}");
                    self.add_unlinked(std::fs::metadata(file), devices);
                }
            }
            Err(error) => self.missed(&error),
        }
    }

    fn count(&mut self, bytes: u64) {
        self.held = self.held.plus(Space { bytes, files: 1 });
    }

    fn add_unlinked(&mut self, found: std::io::Result<Metadata>, devices: &BTreeMap<u64, Space>) {
        match found {
            Ok(found) => {
                let is_ours = found.nlink() == 0 && devices.contains_key(&found.dev());
                if is_ours && self.counted.insert((found.dev(), found.ino())) {
                    self.count(found.blocks() * BLOCK);
                }
            }
            Err(error) => self.missed(&error),
        }
    }

    /// Ignores an error if the process has ended, because it then holds nothing. Any other error
    /// means that it hides from the scan, or that the kernel does not let us look.
    fn missed(&mut self, error: &std::io::Error) {
        self.hides |= !has_ended(error);
    }
}

/// Returns the address range of a mapping of an unlinked file, as named in `map_files`.
fn unlinked_mapping(line: &str) -> Option<&str> {
    let is_memorys = NAMELESS
        .iter()
        .any(|name| line.contains(&format!(" {name}")));
    let (range, _) = line.split_once(' ')?;
    (line.ends_with(UNLINKED) && !is_memorys).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_mappings_of_files_that_were_removed() {
        let at =
            |name: &str| format!("7f0000000000-7f0000100000 rw-s 00000000 fe:00 77      {name}");
        assert_eq!(
            unlinked_mapping(&at("/w/a b (deleted)")),
            Some("7f0000000000-7f0000100000")
        );
        for other in [
            "/w/a",
            "",
            "[heap]",
            "/memfd:a (deleted)",
            "/dev/zero (deleted)",
            "/SYSV00000000 (deleted)",
        ] {
            assert_eq!(unlinked_mapping(&at(other)), None, "{other}");
        }
    }
}
