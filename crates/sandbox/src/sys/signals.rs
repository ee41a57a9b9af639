//! Signals that are read from a descriptor instead of interrupting this process.

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};

use libc::c_int;

/// A signal that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) number: c_int,
    /// Whether the kernel sent it, as it does for a key of the terminal, and so to the whole
    /// process group.
    pub(crate) of_kernel: bool,
}

/// The code of a signal that the kernel sent (sigaction(2)).
const SI_KERNEL: c_int = 0x80;

/// Blocks signals in this thread and those that it starts, and returns the descriptor from which
/// they are read.
pub(crate) fn hold(signals: &[c_int]) -> io::Result<OwnedFd> {
    // SAFETY: the set lives here and all-zero is a valid one; the calls only write to it, and make
    // a descriptor of it.
    let fd = unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut());
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    if fd == -1 {
        return Err(io::Error::last_os_error());
    }
    for signal in signals {
        // SAFETY: no handler code is involved, and a blocked signal does not arrive. One that was
        // ignored, as shells do for jobs in the background, would be lost.
        unsafe { libc::signal(*signal, libc::SIG_DFL) };
    }
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Lets signals of [`hold`] interrupt this process again, also those that have arrived.
pub(crate) fn release(signals: &[c_int]) {
    // SAFETY: the set lives here and all-zero is a valid one; the default dispositions run no code
    // of ours.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, null_mut());
    }
}

/// Returns the next signal that has arrived, if any.
pub(crate) fn next_held(held: &OwnedFd) -> io::Result<Option<Held>> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the kernel writes at most this structure of integers, of which all-zero is a valid
    // one.
    let (read, info) = unsafe {
        let read = libc::read(held.as_raw_fd(), info.as_mut_ptr().cast(), size);
        (read, info.assume_init())
    };
    match usize::try_from(read) {
        Ok(read) if read == size => Ok(Some(Held {
            number: info.ssi_signo.cast_signed(),
            of_kernel: info.ssi_code == SI_KERNEL,
        })),
        Ok(_) => Ok(None),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        },
    }
}

/// Reports whether this process ignores a signal.
pub(crate) fn is_ignored(signal: c_int) -> bool {
    // SAFETY: without a new disposition, the call only writes the present one into a structure that
    // lives here.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        libc::sigaction(signal, null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Ignores a signal from now on.
pub(crate) fn ignore(signal: c_int) {
    // SAFETY: SIG_IGN is a valid disposition and no handler code is involved.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Ends this process by one of the signals of [`hold`].
pub(crate) fn end_by(signal: c_int) {
    release(&[signal]);
    // SAFETY: its disposition is the default one, which runs no code of ours.
    unsafe { libc::raise(signal) };
}
