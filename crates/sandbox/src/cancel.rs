//! Levels that only rise and that blocking and async code can both wait for.
//!
//! Invariant: a level's event descriptor is readable exactly when the level is up, and stays so, because nobody reads
//! it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops jobs from elsewhere: once asked to end they stay asked, and once killed they stay killed. Clones share both.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    end: Level,
    kill: Level,
}

/// Something that is up or not, and never goes down.
#[derive(Debug)]
struct Level {
    raised: AtomicBool,
    /// `None` if the process is out of descriptors; waiters then look at the level at their next wake-up.
    event: Option<OwnedFd>,
}

impl Default for Level {
    fn default() -> Self {
        use rustix::event::{EventfdFlags, eventfd};
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Self { raised: AtomicBool::new(false), event }
    }
}

impl Level {
    fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        if let Some(event) = &self.event {
            // The counter cannot overflow into an error that matters: readable is all that waiters look at.
            let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        }
    }

    fn is_up(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    fn event(&self) -> Option<BorrowedFd<'_>> {
        self.event.as_ref().map(AsFd::as_fd)
    }
}

impl Cancel {
    /// Makes one that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to end, for good: processes get a moment to obey.
    pub fn cancel(&self) {
        self.0.end.raise();
    }

    /// Asks to end without that moment.
    pub fn kill(&self) {
        self.0.kill.raise();
        self.cancel();
    }

    /// Reports whether the end was asked for, in whatever way.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.end.is_up()
    }

    /// Reports whether nothing is to be waited for.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.0.kill.is_up()
    }

    /// Returns a descriptor that becomes readable when the end is asked for.
    pub(crate) fn event(&self) -> Option<BorrowedFd<'_>> {
        self.0.end.event()
    }

    /// Returns a descriptor that becomes readable when nothing is to be waited for any more.
    pub(crate) fn kill_event(&self) -> Option<BorrowedFd<'_>> {
        self.0.kill.event()
    }
}
