//! Parses a call that sets a file's mode, owner or times, and carries it out.
//!
//! Landlock does not restrict these changes, not even for read-only files, and compilers, archivers
//! and git depend on them. Everything is read from the caller once, and the file is held by a
//! descriptor from then on, so what is checked is what is changed. The file must be below a
//! writable root or have no name any more, and must belong to the job's own user.
//!
//! Deliberately absent: changes of the owner, and the bits that make a program run as its owner or
//! group. No build needs them.

use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use libc::c_long;
use rustix::fs::{AtFlags, FileType, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use crate::helper::calls::caller::{Caller, descriptor, is_below, low_half, own_link};
use crate::sys::Call;

/// `fchmodat2`, which is newer than libc's table; its number is the same on every architecture.
pub(crate) const FCHMODAT2: c_long = 452;
/// Calls that set the mode, the owner or the times of a file.
pub(crate) const SETS_ATTRIBUTES: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];
#[cfg(target_arch = "x86_64")]
pub(crate) const SETS_ATTRIBUTES_HERE: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const SETS_ATTRIBUTES_HERE: &[c_long] = &[];
/// The set-user-id and set-group-id bits, which make a program run as its owner or group.
const IDENTITY: u32 = 0o6000;
/// The set-group-id bit. It is harmless on a folder, whose group is then given to new files in it.
const FOLDERS_GROUP: u32 = 0o2000;
/// The value that `chown` takes for "unchanged".
const UNCHANGED: u32 = u32::MAX;
const NANOS_PER_MICRO: i64 = 1_000;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// A file, held by an `O_PATH` descriptor, and the requested change.
pub(crate) struct Asked {
    file: OwnedFd,
    change: Change,
}

enum Change {
    Mode(u32),
    Owner { user: u32, group: u32 },
    Times(Timestamps),
}

impl Asked {
    /// Parses one of these calls and opens its file.
    pub(crate) fn read(call: &Call) -> Result<Self, Errno> {
        let [first, second, third, fourth, fifth] = call.arguments;
        let caller = Caller { pid: call.pid };
        let (file, change) = match call.number {
            libc::SYS_fchmod => (
                caller.opened(descriptor(first))?,
                Change::Mode(low_half(second)),
            ),
            libc::SYS_fchmodat => (
                caller.named_at(first, second, 0)?,
                Change::Mode(low_half(third)),
            ),
            FCHMODAT2 => (
                caller.named_at(first, second, fourth)?,
                Change::Mode(low_half(third)),
            ),
            libc::SYS_fchown => (caller.opened(descriptor(first))?, owner(second, third)),
            libc::SYS_fchownat => (caller.named_at(first, second, fifth)?, owner(third, fourth)),
            libc::SYS_utimensat => {
                let file = if second == 0 {
                    caller.opened(descriptor(first))
                } else {
                    caller.named_at(first, second, fourth)
                };
                (
                    file?,
                    Change::Times(caller.times(third, Clock::Nanoseconds)?),
                )
            }
            _ => caller.read_older(call)?,
        };
        Ok(Self { file, change })
    }

    /// Changes the file if it is below one of the roots. The rules for an ordinary user apply, also
    /// to root.
    pub(crate) fn carry_out(&self, roots: &[PathBuf]) -> Result<(), Errno> {
        let found = rustix::fs::fstat(&self.file)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        match kind {
            FileType::Symlink if matches!(self.change, Change::Mode(_)) => {
                return Err(Errno::OPNOTSUPP);
            }
            FileType::RegularFile
            | FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::Symlink => {}
            _ => return Err(Errno::PERM),
        }
        if found.st_uid != rustix::process::geteuid().as_raw()
            || !is_below(&self.file, &found, roots)
        {
            return Err(Errno::PERM);
        }
        match &self.change {
            Change::Mode(mode) => set_mode(&self.file, *mode & 0o7777, kind),
            Change::Owner { user, group }
                if stays(*user, found.st_uid) && stays(*group, found.st_gid) =>
            {
                Ok(())
            }
            Change::Owner { .. } => Err(Errno::PERM),
            Change::Times(times) => {
                rustix::fs::utimensat(&self.file, "", times, AtFlags::EMPTY_PATH)
            }
        }
    }
}

fn set_mode(file: &OwnedFd, mode: u32, kind: FileType) -> Result<(), Errno> {
    let lent = if kind == FileType::Directory {
        IDENTITY & !FOLDERS_GROUP
    } else {
        IDENTITY
    };
    if mode & lent != 0 {
        return Err(Errno::PERM);
    }
    match std::fs::set_permissions(own_link(file), std::fs::Permissions::from_mode(mode)) {
        Ok(()) => Ok(()),
        Err(cause) => Err(Errno::from_io_error(&cause).unwrap_or(Errno::PERM)),
    }
}

fn stays(asked: u32, found: u32) -> bool {
    asked == UNCHANGED || asked == found
}

fn owner(user: u64, group: u64) -> Change {
    Change::Owner {
        user: low_half(user),
        group: low_half(group),
    }
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

impl Caller {
    /// Parses the calls that only x86-64 has.
    #[cfg(target_arch = "x86_64")]
    fn read_older(&self, call: &Call) -> Result<(OwnedFd, Change), Errno> {
        let [first, second, third, ..] = call.arguments;
        let here = u64::from(libc::AT_FDCWD.cast_unsigned());
        let link = u64::from(libc::AT_SYMLINK_NOFOLLOW.cast_unsigned());
        Ok(match call.number {
            libc::SYS_chmod => (
                self.named_at(here, first, 0)?,
                Change::Mode(low_half(second)),
            ),
            libc::SYS_chown => (self.named_at(here, first, 0)?, owner(second, third)),
            libc::SYS_lchown => (self.named_at(here, first, link)?, owner(second, third)),
            libc::SYS_utime => (
                self.named_at(here, first, 0)?,
                Change::Times(self.times(second, Clock::Seconds)?),
            ),
            libc::SYS_utimes => (
                self.named_at(here, first, 0)?,
                Change::Times(self.times(second, Clock::Microseconds)?),
            ),
            libc::SYS_futimesat if second == 0 => (
                self.opened(descriptor(first))?,
                Change::Times(self.times(third, Clock::Microseconds)?),
            ),
            libc::SYS_futimesat => (
                self.named_at(first, second, 0)?,
                Change::Times(self.times(third, Clock::Microseconds)?),
            ),
            _ => return Err(Errno::NOSYS),
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn read_older(&self, _: &Call) -> Result<(OwnedFd, Change), Errno> {
        Err(Errno::NOSYS)
    }

    fn times(&self, address: u64, clock: Clock) -> Result<Timestamps, Errno> {
        if address == 0 {
            let now = time(0, UTIME_NOW);
            return Ok(Timestamps {
                last_access: now,
                last_modification: now,
            });
        }
        let (last_access, last_modification) = match clock {
            Clock::Nanoseconds => {
                let [seconds, nanos, then, its_nanos] = self.numbers(address)?;
                (time(seconds, nanos), time(then, its_nanos))
            }
            #[cfg(target_arch = "x86_64")]
            Clock::Microseconds => {
                let [seconds, micros, then, its_micros] = self.numbers(address)?;
                (
                    time(seconds, in_nanos(micros)?),
                    time(then, in_nanos(its_micros)?),
                )
            }
            #[cfg(target_arch = "x86_64")]
            Clock::Seconds => {
                let [seconds, then] = self.numbers(address)?;
                (time(seconds, 0), time(then, 0))
            }
        };
        Ok(Timestamps {
            last_access,
            last_modification,
        })
    }

    /// Reads numbers from the caller's memory.
    fn numbers<const N: usize>(&self, address: u64) -> Result<[i64; N], Errno> {
        let mut bytes = [[0; size_of::<i64>()]; N];
        let wanted = size_of_val(&bytes);
        if self.read(address, bytes.as_flattened_mut())? < wanted {
            return Err(Errno::FAULT);
        }
        Ok(bytes.map(i64::from_ne_bytes))
    }
}

fn time(tv_sec: i64, tv_nsec: i64) -> Timespec {
    Timespec { tv_sec, tv_nsec }
}

#[cfg(target_arch = "x86_64")]
fn in_nanos(micros: i64) -> Result<i64, Errno> {
    if (0..MICROS_PER_SECOND).contains(&micros) {
        Ok(micros * NANOS_PER_MICRO)
    } else {
        Err(Errno::INVAL)
    }
}
