//! Finds the process that holds the repository's lock, by the kernel's list and by what it has
//! written into the lock file.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::lock_wait::{Holder, Work};

/// More than the length of a signature.
const SIGNATURE_BYTES: usize = 64;
/// The kernel's list of file locks.
const LOCKS: &str = "/proc/locks";
/// How often the list is read for a lock that is held. The kernel returns it in pieces; if an
/// earlier lock is released between two reads, a later one moves up and may be in neither piece.
const MOST_READS: usize = 4;
/// How much of the list the kernel returns at most in one piece.
const LOCKS_PIECE: usize = 64 * 1024;

/// All of [`Work`], for reading a signature.
const WORKS: [Work; 5] = [
    Work::Landing,
    Work::Undo,
    Work::Worktree,
    Work::Reconciling,
    Work::Pruning,
];

impl Work {
    fn word(self) -> &'static str {
        match self {
            Self::Landing => "landing",
            Self::Undo => "undo",
            Self::Worktree => "worktree",
            Self::Reconciling => "reconciling",
            Self::Pruning => "pruning",
        }
    }

    /// Returns the text that this process writes into the lock file when it takes the lock: pid,
    /// work and a number that differs each time.
    pub(crate) fn signature(self) -> String {
        static TAKEN: AtomicU64 = AtomicU64::new(0);
        format!(
            "{} {} {}",
            std::process::id(),
            self.word(),
            TAKEN.fetch_add(1, Ordering::Relaxed)
        )
    }
}

impl Holder {
    /// Finds the process that holds the lock on this file.
    pub(crate) fn find(file: &File) -> Option<Self> {
        let signed = signature(file);
        // The kernel's list is preferred. It does not show a process that has ended or is in
        // another container.
        let found = file.metadata().ok().map(|found| found.ino());
        let pid = found
            .and_then(|inode| (0..MOST_READS).find_map(|_| locker(&kernels_locks().ok()?, inode)));
        let pid = pid.or(signed.as_ref().map(|signed| signed.pid))?;
        let signed = signed.filter(|signed| signed.pid == pid);
        let (work, taken_before) =
            signed.map_or((None, None), |signed| (signed.work, signed.taken_before));
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
        let program = read("comm").ok().map(|name| name.trim_end().to_owned());
        // The state follows the program's name, which is in parentheses and may contain anything.
        let stat = read("stat").unwrap_or_default();
        let is_stopped = stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.trim_start().starts_with(['T', 't', 'Z']));
        Some(Self {
            pid,
            work,
            program,
            is_stopped,
            taken_before,
        })
    }

    /// Reports whether the process belongs to another user, who may hold a lock only to obstruct
    /// us.
    pub(crate) fn is_anothers(&self) -> bool {
        let process = std::fs::metadata(format!("/proc/{}", self.pid));
        process.is_ok_and(|process| process.uid() != rustix::process::geteuid().as_raw())
    }

    /// Reports whether this is a landing of ours that is still running.
    pub(crate) fn is_landing_that_goes_on(&self) -> bool {
        matches!(self.work, Some(Work::Landing | Work::Undo)) && !self.is_stopped
    }
}

/// What a process of ours has written into the lock file.
struct Signature {
    pid: u32,
    work: Option<Work>,
    taken_before: Option<u64>,
}

/// Reads the signature in the lock file.
fn signature(file: &File) -> Option<Signature> {
    let mut bytes = [0; SIGNATURE_BYTES];
    let read = read_start(file, &mut bytes).ok()?;
    let text = std::str::from_utf8(bytes.get(..read)?).ok()?;
    let mut words = text.split(' ');
    let pid = words.next()?.parse().ok()?;
    let work = words
        .next()
        .and_then(|word| WORKS.into_iter().find(|work| work.word() == word));
    Some(Signature {
        pid,
        work,
        taken_before: words.next().and_then(|word| word.parse().ok()),
    })
}

/// Reads a file from its start, wherever its read position is.
fn read_start(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    file.read_at(bytes, 0)
}

/// Reads the kernel's list of locks in pieces as large as the kernel returns; the standard library
/// would begin with a few bytes.
fn kernels_locks() -> io::Result<String> {
    let mut file = File::open(LOCKS)?;
    let mut locks = vec![0; LOCKS_PIECE];
    let mut length = 0;
    loop {
        let (_, room) = locks.split_at_mut(length);
        match file.read(room)? {
            0 => break,
            read => length += read,
        }
        locks.resize(length + LOCKS_PIECE, 0);
    }
    locks.truncate(length);
    String::from_utf8(locks).map_err(io::Error::other)
}

/// Finds in the kernel's list the process that holds the lock on a file with this inode. A waiting
/// process (`->`) does not count.
fn locker(locks: &str, inode: u64) -> Option<u32> {
    let of_line = |line: &str| -> Option<u32> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, file, ..] = words.as_slice() else {
            return None;
        };
        let is_it = file.rsplit(':').next()?.parse() == Ok(inode);
        pid.parse().ok().filter(|pid| is_it && *pid > 0)
    };
    locks.lines().find_map(of_line)
}

/// Reports whether a process blocks in the kernel for the lock on a file with this inode.
#[cfg(test)]
pub(crate) fn is_awaited(inode: u64) -> bool {
    kernels_locks().is_ok_and(|locks| {
        locks
            .lines()
            .any(|line| line.contains("-> FLOCK") && line.contains(&format!(":{inode} ")))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn the_kernels_list_names_who_holds_and_not_who_waits() {
        let locks = "1: FLOCK  ADVISORY  WRITE 0 08:01:41 0 EOF\n2: POSIX  ADVISORY  WRITE 7 \
                     08:01:42 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 8 08:01:42 0 EOF\n3: -> FLOCK  ADVISORY  WRITE 9 \
                     08:01:42 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 10 08:01:43 0 EOF\n4: -> FLOCK  ADVISORY  WRITE 11 \
                     08:01:44 0 EOF";
        let found = [41, 42, 43, 44].map(|inode| locker(locks, inode));
        assert_eq!(found, [None, Some(8), Some(10), None]);
    }

    #[test]
    fn who_holds_it_is_found_while_other_locks_come_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let create = |name: String| File::create(folder.path().join(name)).unwrap();
        let held = create("held".to_owned());
        held.lock().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let others: Vec<File> = (0..8).map(|number| create(number.to_string())).collect();
                while !is_over.load(Ordering::Relaxed) {
                    for other in others.iter() {
                        other.lock().unwrap();
                    }
                    for other in others.iter() {
                        other.unlock().unwrap();
                    }
                }
            });
            let found = (0..2000).filter(|_| Holder::find(&held).is_some()).count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(found, 2000);
        });
    }
}
