//! The events that wake the supervisor, each by its descriptor.
//!
//! Invariant: a descriptor that hangs up wakes the supervisor once and is then ignored. So the
//! supervisor sleeps until the next tick, whichever descriptors hang up in whatever order, and
//! however long an ended process takes to disappear.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The descriptors that the supervisor waits for.
pub(super) struct Awaited<'a> {
    /// The coordinator's socket. It is never ignored: the supervisor ends when it hangs up.
    pub(super) orders: BorrowedFd<'a>,
    /// Readable from the program's end on, also while a tracer prevents it from being reaped.
    pub(super) program_end: Option<OwnedFd>,
    /// Hangs up as soon as no process of the job runs, long before a process with much memory can
    /// be reaped.
    pub(super) calls: Option<BorrowedFd<'a>>,
}

/// The events that the supervisor has to handle.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// The coordinator has sent something, or has ended.
    pub(super) order: bool,
    /// A system call waits for its answer.
    pub(super) call: bool,
}

impl Awaited<'_> {
    /// Sleeps until an event, at most for `tick`.
    ///
    /// # Errors
    /// Fails if the kernel cannot wait; an interrupting signal is no error.
    pub(super) fn wait(&mut self, tick: Duration) -> io::Result<Heard> {
        let program_end = self.program_end.as_ref().map(AsFd::as_fd);
        let watched = [Some(self.orders), program_end, self.calls]
            .into_iter()
            .flatten();
        let mut events: Vec<PollFd<'_>> = watched
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let timeout = Timespec {
            tv_sec: tick.as_secs().cast_signed(),
            tv_nsec: tick.subsec_nanos().into(),
        };
        match poll(&mut events, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Heard::default()),
            Err(errno) => return Err(errno.into()),
        }
        let order = !heard_of(Some(self.orders), &events).is_empty();
        let has_ended = !heard_of(program_end, &events).is_empty();
        let calls = heard_of(self.calls, &events);
        let call = calls.contains(PollFlags::IN);
        if has_ended {
            self.program_end = None;
        }
        if !call && !calls.is_empty() {
            self.calls = None;
        }
        Ok(Heard { order, call })
    }
}

/// Returns the events of one of the watched descriptors; none if it is not watched.
fn heard_of(descriptor: Option<BorrowedFd<'_>>, events: &[PollFd<'_>]) -> PollFlags {
    for event in events {
        if descriptor.is_some_and(|descriptor| event.as_fd().as_raw_fd() == descriptor.as_raw_fd())
        {
            return event.revents();
        }
    }
    PollFlags::empty()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    const NOTHING: Heard = Heard {
        order: false,
        call: false,
    };
    const ORDER: Heard = Heard {
        order: true,
        call: false,
    };
    const CALL: Heard = Heard {
        order: false,
        call: true,
    };

    /// Polls without sleeping, to tell events that wake the supervisor repeatedly from those that
    /// let it sleep.
    fn looks<const N: usize>(awaited: &mut Awaited<'_>) -> [Heard; N] {
        std::array::from_fn(|_| awaited.wait(Duration::ZERO).unwrap())
    }

    fn hung_up() -> UnixStream {
        UnixStream::pair().unwrap().0
    }

    #[test]
    fn what_has_hung_up_wakes_nobody_again() {
        let ((orders, _coordinator), calls) =
            (UnixStream::pair().unwrap(), rustix::pipe::pipe().unwrap().0);
        let program_end = Some(hung_up().into());
        let mut awaited = Awaited {
            orders: orders.as_fd(),
            program_end,
            calls: Some(calls.as_fd()),
        };
        assert_eq!(looks(&mut awaited), [NOTHING, NOTHING]);
        assert!(awaited.program_end.is_none() && awaited.calls.is_none());
    }

    #[test]
    fn a_call_is_answered_before_its_caller_hangs_up() {
        let ((orders, coordinator), (calls, mut caller)) =
            (UnixStream::pair().unwrap(), std::io::pipe().unwrap());
        let mut awaited = Awaited {
            orders: orders.as_fd(),
            program_end: None,
            calls: Some(calls.as_fd()),
        };
        assert_eq!(looks(&mut awaited), [NOTHING]);
        caller.write_all(b"c").unwrap();
        drop(caller);
        assert_eq!(looks(&mut awaited), [CALL, CALL]);
        rustix::io::read(&calls, &mut [0; 1]).unwrap();
        assert_eq!(looks(&mut awaited), [NOTHING, NOTHING]);
        drop(coordinator);
        assert_eq!(looks(&mut awaited), [ORDER, ORDER]);
    }
}
