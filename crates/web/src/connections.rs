//! How many connections of programs are served at once: each uses files of this process.

use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The connections that each program has for itself, so that it goes on while others use all that
/// are shared.
const OWN_CONNECTIONS: usize = 2;

/// The connections that all proxies of a process serve at once, besides two of each program: more
/// wait. Clones share them.
///
/// Each uses two files, and a process that has none left fails at something else.
#[derive(Clone, Debug)]
pub struct ProxyConnections(Arc<Semaphore>);

impl ProxyConnections {
    /// The number that one program can make use of: package managers open some dozens, several at
    /// once some hundred.
    pub const MOST: usize = 200;

    /// Creates so many connections, of which more than [`ProxyConnections::MOST`] are of no use.
    pub fn new(number: usize) -> ProxyConnections {
        ProxyConnections(Arc::new(Semaphore::new(number.min(Self::MOST))))
    }

    /// Waits until the program has one of its own left, or one that is shared; it is free again
    /// when dropped.
    pub(crate) async fn permit(
        &self,
        own: &OwnConnections,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        tokio::select! {
            biased;
            permit = Arc::clone(&own.0).acquire_owned() => permit,
            permit = Arc::clone(&self.0).acquire_owned() => permit,
        }
    }
}

impl Default for ProxyConnections {
    fn default() -> ProxyConnections {
        ProxyConnections::new(Self::MOST)
    }
}

/// The connections of one program that it shares with no other.
#[derive(Debug)]
pub(crate) struct OwnConnections(Arc<Semaphore>);

impl Default for OwnConnections {
    fn default() -> OwnConnections {
        OwnConnections(Arc::new(Semaphore::new(OWN_CONNECTIONS)))
    }
}
