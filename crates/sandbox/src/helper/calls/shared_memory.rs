//! `/dev/shm` in the fallback tier: a folder of the job's own, which its calls find at that place.
//!
//! Semaphores and shared memory with a name are files there (sem_overview(7), shm_overview(7)), and
//! pools of processes need them. The real folder is shared by all: what other programs of the user
//! share, and other jobs, would be in reach. So the supervisor carries out the calls by which C
//! libraries open, link and remove files there, below a folder of the job's own; all other calls
//! stay refused by Landlock. The job can change that folder, too, which is held open here and in
//! which no link is followed.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::helper::calls::caller::{Answer, Caller, low_half};
use crate::sys::Call;

/// The place at which calls look for the folder.
const PLACE: &str = "/dev/shm";
/// The folder in the job's scratch directory.
const FOLDER: &str = ".shm";
/// The flags that a caller may set; the rest are given by what a file here is.
const PASSED: OFlags = OFlags::from_bits_retain(
    OFlags::ACCMODE.bits()
        | OFlags::CREATE.bits()
        | OFlags::EXCL.bits()
        | OFlags::TRUNC.bits()
        | OFlags::APPEND.bits(),
);

/// The folder of a job, which is made when it is first used: the scratch directory is the job's
/// home, too.
pub(crate) struct SharedMemory {
    path: PathBuf,
    folder: OnceCell<OwnedFd>,
}

impl SharedMemory {
    /// Prepares the folder in a job's scratch directory.
    pub(crate) fn in_scratch(scratch: &Path) -> Self {
        Self {
            path: scratch.join(FOLDER),
            folder: OnceCell::new(),
        }
    }

    /// Returns the folder. A link that the job has put in its place is not followed.
    fn folder(&self) -> Result<&OwnedFd, Errno> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        orchestrate_files::create_folder(&self.path).map_err(|_| Errno::ACCESS)?;
        let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&self.path, how, Mode::empty())?;
        Ok(self.folder.get_or_init(|| opened))
    }

    /// Carries out one of the calls of the [filter's](crate::helper::filter::seccomp) list, if it
    /// names a file of the folder. `is_pending` tells whether the caller still waits.
    pub(crate) fn carry_out(
        &self,
        call: &Call,
        is_pending: &dyn Fn() -> bool,
    ) -> Result<Answer, Errno> {
        let Some(asked) = Asked::read(call)? else {
            return Ok(Answer::Continue);
        };
        // By now, the process id may belong to another process.
        if !is_pending() {
            return Err(Errno::SRCH);
        }
        match asked {
            Asked::Open { name, flags, mode } => self.open(&name, flags, mode),
            Asked::Unlink { name } => {
                rustix::fs::unlinkat(self.folder()?, &name, AtFlags::empty())?;
                Ok(Answer::Done)
            }
            Asked::Link { from, to } => {
                let folder = self.folder()?;
                rustix::fs::linkat(folder, &from, folder, &to, AtFlags::empty())?;
                Ok(Answer::Done)
            }
        }
    }

    fn open(&self, name: &Path, asked: OFlags, mode: Mode) -> Result<Answer, Errno> {
        // A pipe that the job has put there must not keep the supervisor waiting.
        let how = (asked & PASSED) | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = rustix::fs::openat2(self.folder()?, name, how, mode, resolve)?;
        if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(Errno::ACCESS);
        }
        let kept = rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&file, kept | (asked & OFlags::NONBLOCK))?;
        Ok(Answer::Descriptor {
            file,
            close_on_exec: asked.contains(OFlags::CLOEXEC),
        })
    }
}

/// A request of a call about files in the folder.
enum Asked {
    Open {
        name: PathBuf,
        flags: OFlags,
        mode: Mode,
    },
    Unlink {
        name: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
}

impl Asked {
    /// Parses a call; returns `None` if it names a file elsewhere.
    fn read(call: &Call) -> Result<Option<Self>, Errno> {
        let caller = Caller { pid: call.pid };
        let [first, second, third, fourth, _] = call.arguments;
        match call.number {
            libc::SYS_openat => Self::open(caller, second, third, fourth),
            libc::SYS_unlinkat => Self::unlink(caller, second),
            libc::SYS_linkat => Self::link(caller, second, fourth),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => Self::open(caller, first, second, third),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink => Self::unlink(caller, first),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => Self::link(caller, first, second),
            _ => Ok(None),
        }
    }

    fn open(caller: Caller, path: u64, flags: u64, mode: u64) -> Result<Option<Self>, Errno> {
        let Some(name) = name_in_folder(&caller.path(path)?) else {
            return Ok(None);
        };
        let flags = OFlags::from_bits_retain(low_half(flags));
        let is_new = flags.contains(OFlags::CREATE);
        let mode = if is_new {
            Mode::from_raw_mode(low_half(mode) & 0o777)
        } else {
            Mode::empty()
        };
        Ok(Some(Self::Open { name, flags, mode }))
    }

    fn unlink(caller: Caller, path: u64) -> Result<Option<Self>, Errno> {
        Ok(name_in_folder(&caller.path(path)?).map(|name| Self::Unlink { name }))
    }

    /// Gives a file of the folder another name there. One from elsewhere would be a way out.
    fn link(caller: Caller, from: u64, to: u64) -> Result<Option<Self>, Errno> {
        let Some(to) = name_in_folder(&caller.path(to)?) else {
            return Ok(None);
        };
        let from = name_in_folder(&caller.path(from)?).ok_or(Errno::XDEV)?;
        Ok(Some(Self::Link { from, to }))
    }
}

/// Returns the name of a file directly in the folder, as C libraries spell it.
fn name_in_folder(path: &[u8]) -> Option<PathBuf> {
    let name = path.strip_prefix(PLACE.as_bytes())?.strip_prefix(b"/")?;
    let is_name = !name.is_empty() && !name.contains(&b'/') && name != b"." && name != b"..";
    is_name.then(|| PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_directly_in_the_folder_have_a_name_there() {
        let name = |path: &str| name_in_folder(path.as_bytes());
        assert_eq!(name("/dev/shm/sem.mp-1"), Some("sem.mp-1".into()));
        for other in [
            "/dev/shm",
            "/dev/shm/",
            "/dev/shm/..",
            "/dev/shm/.",
            "/dev/shm/a/b",
            "/dev/shma",
            "dev/shm/a",
            "",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
