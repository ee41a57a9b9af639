//! The one thread that starts processes.
//!
//! A parent-death signal fires when the *thread* that spawned ends, so a process spawned from a
//! pool's thread dies with that thread. This thread never ends; all it does is spawn.
//!
//! Invariant: a descriptor is inheritable only while this thread spawns, so no two of its children
//! see each other's descriptors.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::error::SandboxError;

/// The number of starts that may wait; a start takes about a millisecond, and callers block anyway.
const QUEUE: usize = 64;

type Request = Box<dyn FnOnce() + Send>;

/// Starts a process from the spawner's thread; the child keeps the `inherited` descriptors under
/// their numbers.
pub(crate) fn spawn<C: Send + 'static>(
    inherited: Vec<OwnedFd>,
    start: impl FnOnce() -> io::Result<C> + Send + 'static,
) -> Result<C, SandboxError> {
    let (reply, answer) = sync_channel(1);
    requests()
        .ok_or_else(gone)?
        .send(Box::new(move || {
            // A caller that has ended has no use for the child; its control socket is closed, which
            // ends the child.
            let _ = reply.send(start_with(inherited, start));
        }))
        .map_err(|_| gone())?;
    answer
        .recv()
        .map_err(|_| gone())?
        .map_err(SandboxError::io("start a process"))
}

fn gone() -> SandboxError {
    SandboxError::Io {
        action: "reach the thread that starts processes",
        source: io::Error::from(io::ErrorKind::BrokenPipe),
    }
}

/// Starts a process that inherits descriptors, which are closed here afterwards.
fn start_with<C>(inherited: Vec<OwnedFd>, start: impl FnOnce() -> io::Result<C>) -> io::Result<C> {
    for descriptor in &inherited {
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    let started = start();
    drop(inherited);
    started
}

fn requests() -> Option<&'static SyncSender<Request>> {
    static REQUESTS: OnceLock<Option<SyncSender<Request>>> = OnceLock::new();
    REQUESTS.get_or_init(start_thread).as_ref()
}

fn start_thread() -> Option<SyncSender<Request>> {
    let (sender, receiver) = sync_channel(QUEUE);
    let thread = std::thread::Builder::new().name("spawner".to_owned());
    thread.spawn(move || serve(&receiver)).ok()?;
    Some(sender)
}

fn serve(requests: &Receiver<Request>) {
    for request in requests {
        request();
    }
}
