//! Levels that can only be raised, and that both blocking and async code can wait for.
//!
//! Invariant: the event descriptor of a level is readable exactly when the level is raised, and
//! stays so, because it is never read.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops jobs from outside. Neither a cancellation nor a kill can be undone. Clones share both.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    end: Level,
    kill: Level,
}

/// A level that is raised at most once and never lowered.
#[derive(Debug)]
struct Level {
    raised: AtomicBool,
    /// `None` if the process is out of descriptors; waiters then check the level at their next
    /// wake-up.
    event: Option<OwnedFd>,
    #[cfg(feature = "async")]
    waiters: tokio::sync::Notify,
}

impl Default for Level {
    fn default() -> Self {
        use rustix::event::{EventfdFlags, eventfd};
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Self {
            raised: AtomicBool::new(false),
            event,
            #[cfg(feature = "async")]
            waiters: tokio::sync::Notify::new(),
        }
    }
}

impl Level {
    fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        #[cfg(feature = "async")]
        self.waiters.notify_waiters();
        if let Some(event) = &self.event {
            // An overflow of the counter is harmless: waiters only check whether it is readable.
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
    /// Creates a cancellation that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks jobs to end; their processes have a grace period to do so.
    pub fn cancel(&self) {
        self.0.end.raise();
    }

    /// Ends jobs without the grace period.
    pub fn kill(&self) {
        self.0.kill.raise();
        self.cancel();
    }

    /// Reports whether jobs are to end, with or without the grace period.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.end.is_up()
    }

    /// Reports whether jobs are to end without the grace period.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.0.kill.is_up()
    }

    /// Resolves once jobs are to end.
    #[cfg(feature = "async")]
    pub async fn cancelled(&self) {
        let mut raised = std::pin::pin!(self.0.end.waiters.notified());
        // Before looking: a level that is raised afterwards notifies.
        raised.as_mut().enable();
        if !self.0.end.is_up() {
            raised.await;
        }
    }

    /// Returns a descriptor that becomes readable once jobs are to end.
    pub(crate) fn event(&self) -> Option<BorrowedFd<'_>> {
        self.0.end.event()
    }

    /// Returns a descriptor that becomes readable once jobs are to end without the grace period.
    pub(crate) fn kill_event(&self) -> Option<BorrowedFd<'_>> {
        self.0.kill.event()
    }
}
