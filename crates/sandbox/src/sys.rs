//! The few system calls that no safe wrapper offers, each in a function that cannot be misused.

#![expect(unsafe_code, reason = "the only home of system calls without a safe wrapper")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Takes ownership of a descriptor that the parent process left open for us, and keeps it from our children.
pub(crate) fn adopt(raw: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl on a number is harmless; it fails if the descriptor is not open.
    if raw <= 2 || unsafe { libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: the descriptor is open (checked above), and the parent opened it for us alone, by our protocol.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Marks every descriptor but the standard three to be closed when a program is executed.
pub(crate) fn close_all_on_exec() -> io::Result<()> {
    // SAFETY: the call changes flags only; no descriptor is closed under anybody's feet.
    match unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The signals that a terminal or a service manager sends to a whole group, and that the supervisor must survive.
const GROUP_SIGNALS: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE, libc::SIGTSTP];

/// Ignores the signals that are meant for a whole process group.
pub(crate) fn ignore_group_signals() {
    for signal in GROUP_SIGNALS {
        // SAFETY: SIG_IGN is a valid disposition for these signals and no handler code is involved.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Gives the signals of [`ignore_group_signals`] their default meaning again.
pub(crate) fn restore_group_signals() {
    for signal in GROUP_SIGNALS {
        // SAFETY: SIG_DFL is a valid disposition for these signals and no handler code is involved.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Lets this process run before all ordinary ones, but not its children, if the user may do that (root).
///
/// Root's processes are not counted by the kernel's limit, so a fork bomb of root's would starve whoever has to end it.
pub(crate) fn run_before_others() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure is valid for the call; a refusal changes nothing.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
}

/// Runs `step` in the child between fork and exec; for a caller with a single thread, so that `step` may do anything.
pub(crate) fn before_exec_single_threaded(
    command: &mut Command,
    step: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the calling process has one thread (the helper calls this first thing in main), so after fork no lock can
    // be held by a thread that is gone, and allocation is as safe as before it.
    unsafe { command.pre_exec(step) };
}

/// Lets the child die with the thread that spawns it.
pub(crate) fn die_with_spawner(command: &mut Command) {
    let die = || {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(io::Error::from)
    };
    // SAFETY: the closure makes one system call and allocates nothing, so it is safe after fork in a threaded program.
    unsafe { command.pre_exec(die) };
}

/// Returns the version of the kernel's Landlock, or 0 if there is none or it is switched off.
pub(crate) fn landlock_version() -> i64 {
    /// `LANDLOCK_CREATE_RULESET_VERSION` (linux/landlock.h).
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel takes no pointer and makes no descriptor; it only answers a number.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION) }
        .max(0)
}
