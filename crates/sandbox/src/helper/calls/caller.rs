//! The caller of a waiting call, what the call names in its memory, descriptors and folders, and
//! what it can get.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// The maximum length of a path in the kernel (linux/limits.h).
const LONGEST_PATH: usize = 4096;
/// How often to look for a file at its current name while another process renames it.
const RENAMED: usize = 8;
/// `PIDFD_THREAD` (linux/pidfd.h): the number may be that of any thread.
const OF_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());

/// The answer to a call.
pub(crate) enum Answer {
    /// It was carried out.
    Done,
    /// The kernel carries it out, within the job's other rules.
    Continue,
    /// It returns a descriptor of this file.
    Descriptor { file: OwnedFd, close_on_exec: bool },
    /// It is carried out by this, which may take long.
    Later(Box<dyn FnOnce() -> Result<(), Errno> + Send>),
}

/// The thread that made a call.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) pid: u32,
}

impl Caller {
    /// Copies one of the caller's descriptors, which then leads to the same open file.
    pub(crate) fn copied(self, number: i32) -> Result<OwnedFd, Errno> {
        let pid = Pid::from_raw(self.pid.cast_signed()).ok_or(Errno::SRCH)?;
        pidfd_getfd(
            pidfd_open(pid, OF_THREAD)?,
            number,
            PidfdGetfdFlags::empty(),
        )
    }

    /// Opens the file of one of the caller's descriptors.
    pub(crate) fn opened(self, number: i32) -> Result<OwnedFd, Errno> {
        let link = match number {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.pid),
            number => format!("/proc/{}/fd/{number}", self.pid),
        };
        rustix::fs::open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|_| Errno::BADF)
    }

    /// Opens the file that the caller names, resolved from the caller's directory.
    pub(crate) fn named_at(
        self,
        directory: u64,
        address: u64,
        flags: u64,
    ) -> Result<OwnedFd, Errno> {
        let directory = descriptor(directory);
        let flags = AtFlags::from_bits_retain(low_half(flags));
        if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
            return Err(Errno::INVAL);
        }
        let text = self.path(address)?;
        self.named_in(directory, Path::new(OsStr::from_bytes(&text)), flags)
    }

    /// Opens the file with this path, resolved from one of the caller's directories.
    pub(crate) fn named_in(
        self,
        directory: i32,
        path: &Path,
        flags: AtFlags,
    ) -> Result<OwnedFd, Errno> {
        // C libraries change the file of a descriptor this way.
        let number = ["/proc/self/fd", "/dev/fd"]
            .iter()
            .find_map(|dir| path.strip_prefix(dir).ok()?.to_str()?.parse().ok());
        match number {
            Some(number) => return self.opened(i32::abs(number)),
            None if !path.as_os_str().is_empty() => {}
            None if flags.contains(AtFlags::EMPTY_PATH) => return self.opened(directory),
            None => return Err(Errno::NOENT),
        }
        let mut how = OFlags::PATH | OFlags::CLOEXEC;
        how.set(OFlags::NOFOLLOW, flags.contains(AtFlags::SYMLINK_NOFOLLOW));
        let resolve = ResolveFlags::NO_MAGICLINKS;
        if path.is_absolute() {
            return rustix::fs::openat2(rustix::fs::CWD, path, how, Mode::empty(), resolve);
        }
        rustix::fs::openat2(self.opened(directory)?, path, how, Mode::empty(), resolve)
    }

    /// Reads the caller's memory; returns how many bytes there were.
    pub(crate) fn read(self, address: u64, bytes: &mut [u8]) -> Result<usize, Errno> {
        let memory = File::open(format!("/proc/{}/mem", self.pid)).map_err(|_| Errno::PERM)?;
        // The read ends early where the caller's memory does.
        memory.read_at(bytes, address).map_err(|_| Errno::FAULT)
    }

    /// Reads a path from the caller's memory.
    pub(crate) fn path(self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; LONGEST_PATH];
        let count = self.read(address, &mut bytes)?;
        bytes.truncate(count);
        let end = bytes
            .iter()
            .position(|byte| *byte == 0)
            .ok_or(Errno::NAMETOOLONG)?;
        bytes.truncate(end);
        Ok(bytes)
    }
}

/// Reports whether a file is below one of the roots, or has no name any more and so is the job's
/// own.
pub(crate) fn is_below(file: &OwnedFd, found: &Stat, roots: &[PathBuf]) -> bool {
    if found.st_nlink == 0 {
        return true;
    }
    for _ in 0..RENAMED {
        if let Ok(path) = std::fs::read_link(own_link(file))
            && let Some(root) = roots.iter().filter(|root| path.starts_with(root)).max()
            && let Ok(below) = path.strip_prefix(root)
            && let Ok(there) = open_below(root, below)
            && let Ok(there) = rustix::fs::fstat(there)
            && (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino)
        {
            return true;
        }
    }
    false
}

/// Returns a path that leads to an open file of this process.
pub(crate) fn own_link(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn open_below(root: &Path, below: &Path) -> Result<OwnedFd, Errno> {
    let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, how, Mode::empty())?;
    if below.as_os_str().is_empty() {
        return Ok(root);
    }
    rustix::fs::openat2(
        &root,
        below,
        how,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    )
}

/// Returns the lower half: the kernel ignores the upper half of an `int` argument too.
pub(crate) fn low_half(argument: u64) -> u32 {
    (argument & u64::from(u32::MAX)) as u32
}

/// Returns the descriptor that an argument is.
pub(crate) fn descriptor(argument: u64) -> i32 {
    low_half(argument).cast_signed()
}
