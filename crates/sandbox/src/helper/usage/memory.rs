//! Measures how much memory the job holds, including memory that belongs to no process.
//!
//! Files in memory (`memfd_create`, shared mappings, the private folders of the full tier) belong
//! to no process, so the sum of resident memory misses them. There are two checks: a rough one that
//! is never too low and, only if that is over the limit, an exact one. If something hides from the
//! exact check, the job is taken to hold all the shared memory of the machine.
//!
//! Deliberately not counted: the kernel's own memory for pipes, sockets and page tables, which each
//! have limits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use crate::helper::usage::tree::has_ended;

/// The kernel's unit of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;
/// The approximate memory that the kernel uses for each file of a folder in memory.
const PER_FILE: u64 = 1 << 10;
const KIB: u64 = 1 << 10;
/// How often a job is inspected before something in it is taken to hide.
const INSPECTIONS: u32 = 5;
/// The pause in between: several turns of a processor that many programs share.
const BEFORE_NEXT_INSPECTION: Duration = Duration::from_millis(40);
/// How `maps` and links of descriptors name shared memory that has no place in the file system.
pub(crate) const NAMELESS: [&str; 3] = ["/memfd:", "/dev/zero (deleted)", "/SYSV"];

/// Reports whether these processes, segments and folders in memory hold more than `most` bytes
/// together.
pub(crate) fn is_over(
    most: u64,
    resident: u64,
    segments: u64,
    processes: &BTreeMap<i32, u64>,
    folders: &[OsString],
) -> bool {
    let everybodys = shared_by_all();
    let in_folders = folders
        .iter()
        .map(held_by_folder)
        .fold(0, u64::saturating_add);
    if resident
        .saturating_add(everybodys)
        .saturating_add(in_folders)
        <= most
    {
        return false;
    }
    let held = until_visible(|| Held::by_processes(processes), |held| held.hides);
    let shared = if held.hides {
        everybodys
    } else {
        held.shared().min(everybodys)
    };
    held.own
        .saturating_add(shared)
        .saturating_add(in_folders)
        .saturating_add(segments)
        > most
}

/// Repeats an inspection in which something hid: for a moment of its start, an ordinary user cannot
/// inspect a program, and on a busy machine that moment can last.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells when a program can be inspected"
)]
pub(crate) fn until_visible<T>(inspect: impl Fn() -> T, hides: impl Fn(&T) -> bool) -> T {
    for _ in 1..INSPECTIONS {
        let found = inspect();
        if !hides(&found) {
            return found;
        }
        std::thread::sleep(BEFORE_NEXT_INSPECTION);
    }
    inspect()
}

/// Reports whether a process has exited, with all its threads, and only waits for its parent: it
/// holds nothing, but an ordinary user may not look at its descriptors.
pub(crate) fn has_exited(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| is_zombie_alone(&stat))
}

/// Parses the state and the number of threads in `/proc/PID/stat` (proc_pid_stat(5)); the name
/// before them may contain anything.
fn is_zombie_alone(stat: &str) -> bool {
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return false;
    };
    let mut fields = fields.split_ascii_whitespace();
    let (state, threads) = (fields.next(), fields.nth(16));
    matches!(state, Some("Z" | "X")) && matches!(threads, Some("0" | "1"))
}

/// Returns how much of the machine's memory may be shared without being part of a process's size,
/// including files in memory and all that is swapped out.
fn shared_by_all() -> u64 {
    // An unknown amount must not count as little.
    let Ok(text) = std::fs::read_to_string("/proc/meminfo") else {
        return u64::MAX;
    };
    let Some(shared) = kib_of(&text, "Shmem:") else {
        return u64::MAX;
    };
    let swapped = bytes_of(&text, "SwapTotal:").saturating_sub(bytes_of(&text, "SwapFree:"));
    (shared * KIB).saturating_add(swapped)
}

/// Returns an amount of memory in a file of the kernel's; 0 if it is not there.
fn bytes_of(text: &str, name: &str) -> u64 {
    kib_of(text, name).unwrap_or(0) * KIB
}

fn kib_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the size of a folder's files in memory, including unlinked ones; an unknown size is the
/// highest.
fn held_by_folder(folder: &OsString) -> u64 {
    let Ok(found) = rustix::fs::statvfs(folder) else {
        return u64::MAX;
    };
    let bytes = found.f_blocks.saturating_sub(found.f_bfree) * found.f_frsize;
    bytes + found.f_files.saturating_sub(found.f_ffree) * PER_FILE
}

/// Returns the size of all segments of System V shared memory in this namespace; they outlive the
/// processes that created them. An unknown size is the highest.
pub(crate) fn segments() -> u64 {
    let text = match std::fs::read_to_string("/proc/sysvipc/shm") {
        Ok(text) => text,
        // The kernel has none.
        Err(error) if error.kind() == ErrorKind::NotFound => return 0,
        Err(_) => return u64::MAX,
    };
    let mut lines = text.lines();
    let mut names = lines.next().unwrap_or("").split_ascii_whitespace();
    let Some(at) = names.position(|name| name == "rss") else {
        return 0;
    };
    lines
        .filter_map(|line| line.split_ascii_whitespace().nth(at)?.parse::<u64>().ok())
        .sum()
}

/// The memory found in the processes.
#[derive(Default)]
struct Held {
    /// Anonymous memory, swapped out or not; each page counts once, however many processes share
    /// it.
    own: u64,
    /// The size of each nameless file in memory, by its device and inode number.
    files: BTreeMap<(u64, u64), u64>,
    /// The size of the mappings of each nameless file, by its inode number.
    mapped: BTreeMap<u64, u64>,
    /// Whether something could not be inspected.
    hides: bool,
}

impl Held {
    fn by_processes(processes: &BTreeMap<i32, u64>) -> Self {
        let mut held = Self::default();
        for (pid, resident) in processes {
            held.add(*pid, *resident);
        }
        held
    }

    fn shared(&self) -> u64 {
        let mut shared = self.files.values().sum();
        for (number, size) in &self.mapped {
            if !self.files.keys().any(|(_, file)| file == number) {
                shared += size;
            }
        }
        shared
    }

    fn add(&mut self, pid: i32, resident: u64) {
        if has_exited(pid) {
            return;
        }
        match std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
            Ok(text) => {
                self.own += bytes_of(&text, "Pss_Anon:") + bytes_of(&text, "SwapPss:");
            }
            Err(error) => self.missed(&error, resident),
        }
        match std::fs::read_to_string(format!("/proc/{pid}/maps")) {
            Ok(text) => {
                for line in text.lines() {
                    self.add_mapping(line);
                }
            }
            Err(error) => self.missed(&error, 0),
        }
        match std::fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(entries) => {
                for entry in entries.flatten() {
                    self.add_descriptor(pid, &entry);
                }
            }
            Err(error) => self.missed(&error, 0),
        }
    }

    /// Ignores an error if the process has ended, because it then holds nothing. Any other error
    /// means that the process hides itself.
    fn missed(&mut self, error: &std::io::Error, resident: u64) {
        if !has_ended(error) {
            self.hides = true;
            self.own += resident;
        }
    }

    fn add_descriptor(&mut self, pid: i32, entry: &std::fs::DirEntry) {
        let link = match std::fs::read_link(entry.path()) {
            Ok(link) => link,
            Err(error) => return self.missed(&error, 0),
        };
        let link = link.to_string_lossy();
        if !NAMELESS.iter().any(|name| link.starts_with(name)) {
            self.hides |= has_descriptors_waiting(pid, entry);
            return;
        }
        match std::fs::metadata(entry.path()) {
            Ok(found) => {
                self.files
                    .insert((found.dev(), found.ino()), found.blocks() * BLOCK);
            }
            Err(error) => self.missed(&error, 0),
        }
    }

    /// Parses `first-last rwxs offset device number name`. How much of it is resident cannot be
    /// seen.
    fn add_mapping(&mut self, line: &str) {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(number)) = (fields.next(), fields.nth(3)) else {
            return;
        };
        let (Some((first, last)), Some((_, name))) = (range.split_once('-'), line.split_once(" /"))
        else {
            return;
        };
        let is_nameless = NAMELESS
            .iter()
            .any(|nameless| name.starts_with(nameless.trim_start_matches('/')));
        if is_nameless && let Ok(number) = number.parse() {
            let size = address(last).saturating_sub(address(first));
            *self.mapped.entry(number).or_default() += size;
        }
    }
}

fn address(hex: &str) -> u64 {
    u64::from_str_radix(hex, 16).unwrap_or(0)
}

/// Reports whether an entry of a process's `fd` is a socket with descriptors in transit, which are
/// in no process's table, or one of which that cannot be read.
pub(crate) fn has_descriptors_waiting(pid: i32, entry: &std::fs::DirEntry) -> bool {
    let is_socket = match std::fs::read_link(entry.path()) {
        Ok(link) => link.to_string_lossy().starts_with("socket:"),
        Err(error) => return !has_ended(&error),
    };
    if !is_socket {
        return false;
    }
    match std::fs::read_to_string(format!(
        "/proc/{pid}/fdinfo/{}",
        entry.file_name().display()
    )) {
        Ok(text) => kib_of(&text, "scm_fds:").is_some_and(|waiting| waiting > 0),
        Err(error) => !has_ended(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_without_living_threads_has_exited() {
        let stat = |state: &str, threads: u32| {
            format!("7 (a) Z (b) {state} 1 7 7 0 -1 4 5 6 7 8 9 10 11 12 20 0 {threads} 0 99 0 0")
        };
        assert!(is_zombie_alone(&stat("Z", 1)));
        assert!(
            !is_zombie_alone(&stat("Z", 2))
                && !is_zombie_alone(&stat("S", 1))
                && !is_zombie_alone("")
        );
    }

    #[test]
    fn counts_only_mappings_of_nameless_files() {
        let mut held = Held::default();
        for line in [
            "7f0000000000-7f0000100000 rw-s 00000000 00:01 77                         /dev/zero \
             (deleted)",
            "7f0000200000-7f0000201000 r--p 00000000 00:01 78                         /memfd:a b \
             (deleted)",
            "7f0000300000-7f0000301000 r-xp 00000000 fe:00 79                         \
             /usr/bin/memfd:",
            "7f0000400000-7f0000401000 rw-p 00000000 00:00 0                          [heap]",
            "7f0000500000-7f0000501000 rw-p 00000000 00:00 0",
        ] {
            held.add_mapping(line);
        }
        assert_eq!(held.mapped, BTreeMap::from([(77, 1 << 20), (78, 1 << 12)]));
        held.files.insert((1, 77), 5);
        assert_eq!(held.shared(), 5 + (1 << 12));
    }
}
