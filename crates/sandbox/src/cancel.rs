//! A level that only rises and that blocking and async code can both wait for.
//!
//! Invariant: the event descriptor is readable exactly when the level is up, and stays so, because nobody reads it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops jobs from elsewhere: once raised it stays raised. Clones share the level.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    raised: AtomicBool,
    /// `None` if the process is out of descriptors; waiters then look at the level at their next wake-up.
    event: Option<OwnedFd>,
    #[cfg(feature = "async")]
    watch: tokio::sync::watch::Sender<bool>,
}

impl Default for Inner {
    fn default() -> Self {
        use rustix::event::{EventfdFlags, eventfd};
        Self {
            raised: AtomicBool::new(false),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok(),
            #[cfg(feature = "async")]
            watch: tokio::sync::watch::Sender::new(false),
        }
    }
}

impl Cancel {
    /// Makes one that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the level, for good.
    pub fn cancel(&self) {
        self.0.raised.store(true, Ordering::SeqCst);
        if let Some(event) = &self.0.event {
            // The counter cannot overflow into an error that matters: readable is all that waiters look at.
            let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        }
        #[cfg(feature = "async")]
        self.0.watch.send_replace(true);
    }

    /// Tells whether the level is up.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.raised.load(Ordering::SeqCst)
    }

    /// Returns a descriptor that becomes readable when the level rises.
    pub(crate) fn event(&self) -> Option<BorrowedFd<'_>> {
        self.0.event.as_ref().map(AsFd::as_fd)
    }

    /// Waits until the level is up.
    #[cfg(feature = "async")]
    pub async fn cancelled(&self) {
        let mut level = self.0.watch.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = level.wait_for(|raised| *raised).await;
    }
}
