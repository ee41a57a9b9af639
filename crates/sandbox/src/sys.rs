//! The few system calls without a safe wrapper, each in a function that cannot be misused.

#![expect(
    unsafe_code,
    reason = "the only home of system calls without a safe wrapper"
)]

mod signals;
mod start;

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

pub(crate) use signals::{end_by, hold, ignore, is_ignored, next_held, release};
pub(crate) use start::{
    Copied, GroupError, PreparedProgram, Program, copy, copy_into_namespaces, start,
    start_in_group, start_single_threaded,
};

/// Returns a text as the kernel takes it; fails if it contains a NUL byte.
pub(crate) fn c_string(text: impl AsRef<OsStr>) -> io::Result<CString> {
    Ok(CString::new(text.as_ref().as_bytes())?)
}

/// Returns texts as the kernel takes them; fails if one contains a NUL byte.
pub(crate) fn c_strings<'a>(texts: impl Iterator<Item = &'a OsStr>) -> io::Result<Vec<CString>> {
    texts.map(c_string).collect()
}

/// Returns variables as `NAME=value`; fails if one contains a NUL byte.
pub(crate) fn c_environment(variables: &[(OsString, OsString)]) -> io::Result<Vec<CString>> {
    let mut environment = Vec::new();
    for (name, value) in variables {
        let mut variable = name.clone();
        variable.push("=");
        variable.push(value);
        environment.push(c_string(variable)?);
    }
    Ok(environment)
}

/// Takes ownership of a descriptor that the parent process left open for this one, and marks it
/// close-on-exec.
pub(crate) fn adopt(raw: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl on a number is harmless; it fails if the descriptor is not open.
    if raw <= 2 || unsafe { libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: the descriptor is open (checked above), and the parent opened it for us alone, by our
    // protocol.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Lets go of the standard streams of this process, so that the other ends see when no other
/// process holds them.
pub(crate) fn let_go_of_streams() -> io::Result<()> {
    let null = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    for number in 0..=2 {
        replace_stream(number, &null)?;
    }
    Ok(())
}

/// Replaces a standard stream of this process, by its number.
pub(crate) fn replace_stream(number: RawFd, by: impl AsFd) -> io::Result<()> {
    assert!(
        (0..=2).contains(&number),
        "BUG: {number} is no standard stream"
    );
    // SAFETY: both descriptors are open; nothing of this process refers to the replaced one by an
    // owning handle.
    match unsafe { libc::dup2(by.as_fd().as_raw_fd(), number) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Enters a new network namespace.
pub(crate) fn leave_network() -> io::Result<()> {
    // SAFETY: changes where this process's later sockets are; it takes no pointer.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Brings up the loopback interface of this process's network namespace, which gives it its
/// addresses.
pub(crate) fn bring_up_loopback() -> io::Result<()> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    // SAFETY: all-zero is a valid value of this structure of integers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    // SAFETY: the request takes exactly this structure, which lives through the call.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just filled in this member of the union.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
    // SAFETY: as above.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Marks every descriptor but the standard three as close-on-exec.
pub(crate) fn close_all_on_exec() -> io::Result<()> {
    // SAFETY: the call changes flags only; no descriptor that is in use is closed.
    match unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The kernel's unit of `ru_inblock` and `ru_oublock` (getrusage(2)).
const BLOCK: u64 = 512;
/// The kernel's unit of `ru_maxrss` (getrusage(2)).
const RESIDENT_UNIT: u64 = 1 << 10;

/// The resources that the descendants that were waited for have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ChildrenUsage {
    /// The time of all of them, in user mode and in the kernel.
    pub(crate) cpu: Duration,
    /// The highest resident memory of a single one, in bytes.
    pub(crate) peak_resident_bytes: u64,
    /// Bytes read from disks.
    pub(crate) read_bytes: u64,
    /// Bytes written to disks, including those that were removed again.
    pub(crate) written_bytes: u64,
}

/// Returns what the descendants that were waited for have used.
pub(crate) fn used_by_children() -> ChildrenUsage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills in a structure that lives here; all zeroes are a valid one.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    ChildrenUsage {
        cpu: duration(usage.ru_utime).saturating_add(duration(usage.ru_stime)),
        peak_resident_bytes: counted(usage.ru_maxrss, RESIDENT_UNIT),
        read_bytes: counted(usage.ru_inblock, BLOCK),
        written_bytes: counted(usage.ru_oublock, BLOCK),
    }
}

fn counted(count: libc::c_long, unit: u64) -> u64 {
    u64::try_from(count).unwrap_or(0).saturating_mul(unit)
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds.saturating_add(Duration::from_micros(
        u64::try_from(time.tv_usec).unwrap_or(0),
    ))
}

/// The signals that a terminal or a service manager sends to a whole group, and that the supervisor
/// must survive.
const GROUP_SIGNALS: [libc::c_int; 6] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGTSTP,
];

/// Ignores the signals that are meant for a whole process group.
pub(crate) fn ignore_group_signals() {
    for signal in GROUP_SIGNALS {
        // SAFETY: SIG_IGN is a valid disposition for these signals and no handler code is involved.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Restores the default disposition of the signals of [`ignore_group_signals`].
pub(crate) fn restore_group_signals() {
    for signal in GROUP_SIGNALS {
        // SAFETY: SIG_DFL is a valid disposition for these signals and no handler code is involved.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Forks this process; returns the child's id in the parent and `None` in the child. The caller
/// must have a single thread, so that the child may do anything.
pub(crate) fn fork_single_threaded() -> io::Result<Option<rustix::process::Pid>> {
    // SAFETY: the calling process has one thread (the helper calls this before anything else), so
    // no lock can be held in the child by a thread that it does not have.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(rustix::process::Pid::from_raw(pid)),
    }
}

/// Returns the ABI version of the kernel's Landlock; 0 if it is missing or disabled.
pub(crate) fn landlock_version() -> i64 {
    /// `LANDLOCK_CREATE_RULESET_VERSION` (linux/landlock.h).
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag, the kernel takes no pointer and creates no descriptor; it only
    // returns a number.
    unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            VERSION,
        )
    }
    .max(0)
}

/// A system call that waits for the supervisor's answer.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: u64,
    pub(crate) pid: u32,
    pub(crate) number: libc::c_long,
    pub(crate) arguments: [u64; 5],
}

/// `SECCOMP_IOCTL_NOTIF_RECV`, `_SEND`, `_ID_VALID` and `_ADDFD` (linux/seccomp.h).
const RECEIVE: libc::c_ulong = 0xC050_2100;
const SEND: libc::c_ulong = 0xC018_2101;
const ID_VALID: libc::c_ulong = 0x4008_2102;
const ADD_DESCRIPTOR: libc::c_ulong = 0x4018_2103;

/// Installs a filter and returns the descriptor from which its notifications are read.
pub(crate) fn install_listening_filter(filter: &[seccompiler::sock_filter]) -> io::Result<OwnedFd> {
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog {
        len: length,
        filter: filter.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    // Once its call is being carried out, no signal makes a caller fail with an error that it does
    // not expect.
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: both crates' `sock_filter` is the kernel's C structure; the kernel copies the program
    // and changes nothing.
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
    let fd = RawFd::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Receives the next waiting call.
pub(crate) fn receive_call(listener: &OwnedFd) -> io::Result<Call> {
    // SAFETY: all-zero is what the kernel demands of this structure of integers.
    let mut notification: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the request takes exactly this structure, which lives through the call.
    if unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut notification) } == -1 {
        return Err(io::Error::last_os_error());
    }
    let [first, second, third, fourth, fifth, _] = notification.data.args;
    Ok(Call {
        id: notification.id,
        pid: notification.pid,
        number: notification.data.nr.into(),
        arguments: [first, second, third, fourth, fifth],
    })
}

/// Reports whether the caller is still waiting, so that its process id is still its own.
pub(crate) fn call_is_pending(listener: &OwnedFd, id: u64) -> bool {
    // SAFETY: the request takes a pointer to a u64, which lives through the call.
    unsafe { libc::ioctl(listener.as_raw_fd(), ID_VALID, &raw const id) == 0 }
}

/// Makes the call return 0, or fail with this error number.
pub(crate) fn answer_call(listener: &OwnedFd, id: u64, errno: i32) -> io::Result<()> {
    respond(
        listener,
        libc::seccomp_notif_resp {
            id,
            val: 0,
            error: -errno,
            flags: 0,
        },
    )
}

/// Lets the kernel carry the call out. What it names may have changed since it was looked at.
pub(crate) fn continue_call(listener: &OwnedFd, id: u64) -> io::Result<()> {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    respond(
        listener,
        libc::seccomp_notif_resp {
            id,
            val: 0,
            error: 0,
            flags,
        },
    )
}

/// Gives the caller a descriptor of a file, and makes the call return its number.
pub(crate) fn answer_descriptor(
    listener: &OwnedFd,
    id: u64,
    file: &OwnedFd,
    close_on_exec: bool,
) -> io::Result<()> {
    let request = libc::seccomp_notif_addfd {
        id,
        flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
        srcfd: file.as_raw_fd().cast_unsigned(),
        newfd: 0,
        newfd_flags: if close_on_exec {
            libc::O_CLOEXEC.cast_unsigned()
        } else {
            0
        },
    };
    // SAFETY: the request takes exactly this structure, which lives through the call.
    match unsafe { libc::ioctl(listener.as_raw_fd(), ADD_DESCRIPTOR, &raw const request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn respond(listener: &OwnedFd, response: libc::seccomp_notif_resp) -> io::Result<()> {
    // SAFETY: the request takes exactly this structure, which lives through the call.
    match unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw const response) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
