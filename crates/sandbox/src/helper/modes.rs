//! Sets modes, owners and times of files in the fallback tier, only for files below a writable
//! root.
//!
//! Landlock does not restrict these changes, not even for read-only files, and compilers, archivers
//! and git depend on them. So seccomp hands every such call to the supervisor, which carries it out
//! itself if the file is below a writable root ([`super::attributes`]).
//!
//! Deliberately absent: changes of the owner, and the bits that make a program run as its owner or
//! group. No build needs them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::io::Errno;

use super::attributes::Asked;
use crate::descriptors;
use crate::sys::{self, Call};

/// The supervisor's end, which receives every call and answers it.
pub(super) struct Modes {
    listener: OwnedFd,
    roots: Vec<PathBuf>,
}

/// Sends the listener from the confined child to the supervisor.
pub(super) fn hand_over(listener: &OwnedFd, supervisor: &UnixStream) -> Result<(), String> {
    let sent = descriptors::send(supervisor, b"m", listener.as_fd());
    sent.map(drop).map_err(|cause| format!("hand over the listener for modes: {cause}"))
}

impl Modes {
    /// Receives the listener that [`hand_over`] sent.
    pub(super) fn take(child: &UnixStream, roots: Vec<PathBuf>) -> io::Result<Self> {
        let (_, listener) = descriptors::receive(child, &mut [0])?;
        Ok(Self { listener: listener.ok_or(io::ErrorKind::UnexpectedEof)?, roots })
    }

    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers one call, if one is waiting.
    pub(super) fn answer_one(&self) {
        // If the caller was killed in the meantime, no answer is needed.
        let Ok(call) = sys::receive_call(&self.listener) else { return };
        let result = self.carry_out(&call).map_err(Errno::raw_os_error);
        let _ = sys::answer_call(&self.listener, call.id, result.err().unwrap_or(0));
    }

    fn carry_out(&self, call: &Call) -> Result<(), Errno> {
        let asked = Asked::read(call)?;
        // By now, the process id may belong to another process.
        if !sys::call_is_pending(&self.listener, call.id) {
            return Err(Errno::SRCH);
        }
        asked.carry_out(&self.roots)
    }
}
