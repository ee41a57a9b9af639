//! Parses a call that sets a file's mode, owner or times, and carries it out.
//!
//! Everything is read from the caller once, and the file is held by a descriptor from then on, so
//! what is checked is what is changed. The file must be below a writable root or have no name any
//! more, and must belong to the job's own user.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use libc::c_long;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use crate::sys::Call;

/// `fchmodat2`, which is newer than libc's table; its number is the same on every architecture.
pub(super) const FCHMODAT2: c_long = 452;
/// The maximum length of a path in the kernel (linux/limits.h).
const LONGEST_PATH: usize = 4096;
/// The set-user-id and set-group-id bits, which make a program run as its owner or group.
const IDENTITY: u32 = 0o6000;
/// The set-group-id bit. It is harmless on a folder, whose group is then given to new files in it.
const FOLDERS_GROUP: u32 = 0o2000;
/// The value that `chown` takes for "unchanged".
const UNCHANGED: u32 = u32::MAX;
/// How often to look for a file at its current name while another process renames it.
const RENAMED: usize = 8;
const NANOS_PER_MICRO: i64 = 1_000;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// A file, held by an `O_PATH` descriptor, and the requested change.
pub(super) struct Asked {
    file: OwnedFd,
    change: Change,
}

enum Change {
    Mode(u32),
    Owner { user: u32, group: u32 },
    Times(Timestamps),
}

impl Asked {
    /// Parses a call of [`super::seccomp`]'s list and opens its file.
    pub(super) fn read(call: &Call) -> Result<Self, Errno> {
        let [first, second, third, fourth, fifth] = call.arguments;
        let caller = Caller { pid: call.pid };
        let (file, change) = match call.number {
            libc::SYS_fchmod => (caller.opened(descriptor(first))?, Change::Mode(low_half(second))),
            libc::SYS_fchmodat => (caller.named_at(first, second, 0)?, Change::Mode(low_half(third))),
            FCHMODAT2 => (caller.named_at(first, second, fourth)?, Change::Mode(low_half(third))),
            libc::SYS_fchown => (caller.opened(descriptor(first))?, owner(second, third)),
            libc::SYS_fchownat => (caller.named_at(first, second, fifth)?, owner(third, fourth)),
            libc::SYS_utimensat => {
                let file =
                    if second == 0 { caller.opened(descriptor(first)) } else { caller.named_at(first, second, fourth) };
                (file?, Change::Times(caller.times(third, Clock::Nanoseconds)?))
            }
            _ => caller.read_older(call)?,
        };
        Ok(Self { file, change })
    }

    /// Changes the file if it is below one of the roots. The rules for an ordinary user apply, also
    /// to root.
    pub(super) fn carry_out(&self, roots: &[PathBuf]) -> Result<(), Errno> {
        let found = rustix::fs::fstat(&self.file)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        match kind {
            FileType::Symlink if matches!(self.change, Change::Mode(_)) => return Err(Errno::OPNOTSUPP),
            FileType::RegularFile | FileType::Directory | FileType::Fifo | FileType::Socket | FileType::Symlink => {}
            _ => return Err(Errno::PERM),
        }
        if found.st_uid != rustix::process::geteuid().as_raw() || !is_below(&self.file, &found, roots) {
            return Err(Errno::PERM);
        }
        match &self.change {
            Change::Mode(mode) => set_mode(&self.file, *mode & 0o7777, kind),
            Change::Owner { user, group } if stays(*user, found.st_uid) && stays(*group, found.st_gid) => Ok(()),
            Change::Owner { .. } => Err(Errno::PERM),
            Change::Times(times) => rustix::fs::utimensat(&self.file, "", times, AtFlags::EMPTY_PATH),
        }
    }
}

fn set_mode(file: &OwnedFd, mode: u32, kind: FileType) -> Result<(), Errno> {
    let lent = if kind == FileType::Directory { IDENTITY & !FOLDERS_GROUP } else { IDENTITY };
    if mode & lent != 0 {
        return Err(Errno::PERM);
    }
    let failed = |cause: io::Error| Errno::from_io_error(&cause).unwrap_or(Errno::PERM);
    std::fs::set_permissions(own_link(file), std::fs::Permissions::from_mode(mode)).map_err(failed)
}

fn stays(asked: u32, found: u32) -> bool {
    asked == UNCHANGED || asked == found
}

/// Reports whether a file is below one of the roots, or has no name any more and so is the job's
/// own.
fn is_below(file: &OwnedFd, found: &Stat, roots: &[PathBuf]) -> bool {
    if found.st_nlink == 0 {
        return true;
    }
    (0..RENAMED).any(|_| {
        let Ok(path) = std::fs::read_link(own_link(file)) else { return false };
        let Some(root) = roots.iter().filter(|root| path.starts_with(root)).max() else { return false };
        let Ok(there) = open_below(root, path.strip_prefix(root).unwrap_or(&path)) else { return false };
        rustix::fs::fstat(there).is_ok_and(|there| (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino))
    })
}

fn own_link(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn open_below(root: &Path, below: &Path) -> Result<OwnedFd, Errno> {
    let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, how, Mode::empty())?;
    if below.as_os_str().is_empty() {
        return Ok(root);
    }
    rustix::fs::openat2(&root, below, how, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// Returns the lower half: the kernel ignores the upper half of an `int` argument too.
fn low_half(argument: u64) -> u32 {
    (argument & u64::from(u32::MAX)) as u32
}

fn descriptor(argument: u64) -> i32 {
    low_half(argument).cast_signed()
}

fn owner(user: u64, group: u64) -> Change {
    Change::Owner { user: low_half(user), group: low_half(group) }
}

/// The unit in which a call passes its times.
#[derive(Clone, Copy)]
enum Clock {
    Nanoseconds,
    #[cfg(target_arch = "x86_64")]
    Microseconds,
    #[cfg(target_arch = "x86_64")]
    Seconds,
}

/// The thread that made the call.
struct Caller {
    pid: u32,
}

impl Caller {
    /// Parses the calls that only x86-64 has.
    #[cfg(target_arch = "x86_64")]
    fn read_older(&self, call: &Call) -> Result<(OwnedFd, Change), Errno> {
        let [first, second, third, ..] = call.arguments;
        let here = u64::from(libc::AT_FDCWD.cast_unsigned());
        let link = u64::from(libc::AT_SYMLINK_NOFOLLOW.cast_unsigned());
        Ok(match call.number {
            libc::SYS_chmod => (self.named_at(here, first, 0)?, Change::Mode(low_half(second))),
            libc::SYS_chown => (self.named_at(here, first, 0)?, owner(second, third)),
            libc::SYS_lchown => (self.named_at(here, first, link)?, owner(second, third)),
            libc::SYS_utime => (self.named_at(here, first, 0)?, Change::Times(self.times(second, Clock::Seconds)?)),
            libc::SYS_utimes => {
                (self.named_at(here, first, 0)?, Change::Times(self.times(second, Clock::Microseconds)?))
            }
            libc::SYS_futimesat if second == 0 => {
                (self.opened(descriptor(first))?, Change::Times(self.times(third, Clock::Microseconds)?))
            }
            libc::SYS_futimesat => {
                (self.named_at(first, second, 0)?, Change::Times(self.times(third, Clock::Microseconds)?))
            }
            _ => return Err(Errno::NOSYS),
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn read_older(&self, _: &Call) -> Result<(OwnedFd, Change), Errno> {
        Err(Errno::NOSYS)
    }

    /// Opens the file of one of the caller's descriptors.
    fn opened(&self, number: i32) -> Result<OwnedFd, Errno> {
        let link = match number {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.pid),
            number => format!("/proc/{}/fd/{number}", self.pid),
        };
        rustix::fs::open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|_| Errno::BADF)
    }

    /// Opens the file that the caller names, resolved from the caller's directory.
    fn named_at(&self, directory: u64, address: u64, flags: u64) -> Result<OwnedFd, Errno> {
        let (directory, flags) = (descriptor(directory), AtFlags::from_bits_retain(low_half(flags)));
        if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
            return Err(Errno::INVAL);
        }
        let text = self.path(address)?;
        let path = Path::new(OsStr::from_bytes(&text));
        // C libraries change the file of a descriptor this way.
        let number =
            ["/proc/self/fd", "/dev/fd"].iter().find_map(|dir| path.strip_prefix(dir).ok()?.to_str()?.parse().ok());
        match number {
            Some(number) => return self.opened(i32::abs(number)),
            None if !text.is_empty() => {}
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

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<usize, Errno> {
        let memory = File::open(format!("/proc/{}/mem", self.pid)).map_err(|_| Errno::PERM)?;
        // The read ends early where the caller's memory does.
        memory.read_at(bytes, address).map_err(|_| Errno::FAULT)
    }

    fn path(&self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; LONGEST_PATH];
        let count = self.read(address, &mut bytes)?;
        bytes.truncate(count);
        let end = bytes.iter().position(|byte| *byte == 0).ok_or(Errno::NAMETOOLONG)?;
        bytes.truncate(end);
        Ok(bytes)
    }

    fn times(&self, address: u64, clock: Clock) -> Result<Timestamps, Errno> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        if address == 0 {
            return Ok(Timestamps { last_access: now, last_modification: now });
        }
        let mut bytes = [0; 4 * size_of::<i64>()];
        let wanted = match clock {
            Clock::Nanoseconds => bytes.len(),
            #[cfg(target_arch = "x86_64")]
            Clock::Microseconds => bytes.len(),
            #[cfg(target_arch = "x86_64")]
            Clock::Seconds => bytes.len() / 2,
        };
        if self.read(address, bytes.get_mut(..wanted).ok_or(Errno::FAULT)?)? < wanted {
            return Err(Errno::FAULT);
        }
        let mut numbers =
            bytes.chunks_exact(size_of::<i64>()).map(|chunk| i64::from_ne_bytes(chunk.try_into().unwrap_or_default()));
        let mut time = || {
            let seconds = numbers.next().unwrap_or(0);
            let below = match clock {
                Clock::Nanoseconds => numbers.next().unwrap_or(0),
                #[cfg(target_arch = "x86_64")]
                Clock::Microseconds => {
                    let micros = numbers.next().unwrap_or(0);
                    if !(0..MICROS_PER_SECOND).contains(&micros) {
                        return Err(Errno::INVAL);
                    }
                    micros * NANOS_PER_MICRO
                }
                #[cfg(target_arch = "x86_64")]
                Clock::Seconds => 0,
            };
            Ok(Timespec { tv_sec: seconds, tv_nsec: below })
        };
        Ok(Timestamps { last_access: time()?, last_modification: time()? })
    }
}
