//! Setting the modes of files in the fallback tier: only of files below a writable root.
//!
//! Landlock does not guard modes, and compilers and git cannot do without setting them. So seccomp hands every such
//! call that names a path to the supervisor, which sets the mode itself, on a file that it finds below a writable root
//! without ever leaving it. The caller's arguments are read once; what the supervisor checks is what it changes.
//!
//! Deliberately not here: `fchmod`, whose descriptor shows that the file could be opened, and the bits that lend a
//! file's identity to whoever runs it, which no build needs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use crate::sys::{self, Call};

/// Newer than libc's table; the same number on every architecture.
pub(super) const FCHMODAT2: libc::c_long = 452;
/// The longest path that the kernel takes (linux/limits.h).
const LONGEST_PATH: usize = 4096;
/// The bits that make a program run as its owner or group.
const IDENTITY: u32 = 0o6000;

/// The supervisor's end: hears of every call and answers it.
pub(super) struct Modes {
    listener: OwnedFd,
    roots: Vec<PathBuf>,
}

/// Sends the listener from the confined child to the supervisor.
pub(super) fn hand_over(listener: &OwnedFd, supervisor: &UnixStream) -> Result<(), String> {
    let fds = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    rustix::net::sendmsg(supervisor, &[IoSlice::new(b"m")], &mut control, SendFlags::empty())
        .map(drop)
        .map_err(|errno| format!("hand over the listener for modes: {errno}"))
}

impl Modes {
    /// Takes what [`hand_over`] sent.
    pub(super) fn take(child: &UnixStream, roots: Vec<PathBuf>) -> io::Result<Self> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        rustix::net::recvmsg(child, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let rights = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        let listener = rights.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(Self { listener, roots })
    }

    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers one call, if one is waiting.
    pub(super) fn answer_one(&self) {
        // A caller that was killed meanwhile waits for no answer.
        let Ok(call) = sys::receive_call(&self.listener) else { return };
        let result = self.set_mode(&call).map_err(Errno::raw_os_error);
        let _ = sys::answer_call(&self.listener, call.id, result.err().unwrap_or(0));
    }

    fn set_mode(&self, call: &Call) -> Result<(), Errno> {
        let asked = Asked::read(call)?;
        // The numbers may have been given to another process since.
        if !sys::call_is_pending(&self.listener, call.id) {
            return Err(Errno::SRCH);
        }
        if asked.mode & IDENTITY != 0 {
            return Err(Errno::PERM);
        }
        let root = self.roots.iter().filter(|root| asked.path.starts_with(root)).max().ok_or(Errno::PERM)?;
        let below = asked.path.strip_prefix(root).map_err(|_| Errno::PERM)?;
        let file = open_below(root, below, asked.follow)?;
        change(&file, asked.mode)
    }
}

/// What a call asks for.
struct Asked {
    path: PathBuf,
    mode: u32,
    follow: bool,
}

impl Asked {
    fn read(call: &Call) -> Result<Self, Errno> {
        let [first, second, third, fourth] = call.arguments;
        let (directory, path, mode, flags) = match call.number {
            libc::SYS_fchmodat => (low_half(first).cast_signed(), second, low_half(third), 0),
            FCHMODAT2 => (low_half(first).cast_signed(), second, low_half(third), low_half(fourth)),
            _ => (libc::AT_FDCWD, first, low_half(second), 0),
        };
        let flags = AtFlags::from_bits_retain(flags);
        if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
            return Err(Errno::INVAL);
        }
        let text = read_path(call.pid, path)?;
        if text.is_empty() && !flags.contains(AtFlags::EMPTY_PATH) {
            return Err(Errno::NOENT);
        }
        let path = absolute(call.pid, directory, Path::new(OsStr::from_bytes(&text)))?;
        Ok(Self { path, mode: mode & 0o7777, follow: !flags.contains(AtFlags::SYMLINK_NOFOLLOW) })
    }
}

/// The kernel, too, looks only at this half of an `int` argument.
fn low_half(argument: u64) -> u32 {
    (argument & u64::from(u32::MAX)) as u32
}

fn read_path(pid: u32, address: u64) -> Result<Vec<u8>, Errno> {
    let memory = File::open(format!("/proc/{pid}/mem")).map_err(|_| Errno::PERM)?;
    let mut bytes = vec![0; LONGEST_PATH];
    // The read ends early where the caller's memory does.
    let count = memory.read_at(&mut bytes, address).map_err(|_| Errno::FAULT)?;
    bytes.truncate(count);
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(Errno::NAMETOOLONG)?;
    bytes.truncate(end);
    Ok(bytes)
}

/// Makes the path absolute as the caller means it.
fn absolute(pid: u32, directory: i32, path: &Path) -> Result<PathBuf, Errno> {
    let link = |name: String| std::fs::read_link(format!("/proc/{pid}/{name}")).map_err(|_| Errno::BADF);
    // C libraries set the mode of a descriptor's file this way.
    let descriptor =
        ["/proc/self/fd", "/dev/fd"].iter().find_map(|dir| path.strip_prefix(dir).ok()?.to_str()?.parse().ok());
    match descriptor {
        Some(number) => link(format!("fd/{}", i32::abs(number))),
        None if path.is_absolute() => Ok(path.to_owned()),
        None if directory == libc::AT_FDCWD => Ok(link("cwd".to_owned())?.join(path)),
        None => Ok(link(format!("fd/{directory}"))?.join(path)),
    }
}

fn open_below(root: &Path, below: &Path, follow: bool) -> Result<OwnedFd, Errno> {
    let how = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, how, Mode::empty())?;
    if below.as_os_str().is_empty() {
        return Ok(root);
    }
    let how = if follow { how } else { how | OFlags::NOFOLLOW };
    let found =
        rustix::fs::openat2(&root, below, how, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS);
    // Says that the way leads out.
    found.map_err(|errno| if errno == Errno::XDEV { Errno::PERM } else { errno })
}

/// Changes what the descriptor stands for, under the rules that hold for an ordinary user, root or not.
fn change(file: &OwnedFd, mode: u32) -> Result<(), Errno> {
    let found = rustix::fs::fstat(file)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => return Err(Errno::OPNOTSUPP),
        FileType::RegularFile | FileType::Directory | FileType::Fifo | FileType::Socket => {}
        _ => return Err(Errno::PERM),
    }
    if found.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let failed = |cause: io::Error| Errno::from_io_error(&cause).unwrap_or(Errno::PERM);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).map_err(failed)
}
