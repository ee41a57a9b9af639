//! What is told while a run goes on and is no fact: that a model is asked again. Whoever follows the run is shown it,
//! and it is not kept.

use std::time::Duration;

use orchestrate_core::TaskId;
use tokio::sync::broadcast;

/// How far a follower may be behind; what is older is lost, since it has passed anyway.
const BEHIND: usize = 64;

/// A request that got no answer and is sent again after a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The task whose agent waits.
    pub task: TaskId,
    /// Why there was no answer; fits "failed to …".
    pub error: String,
    /// The number of the attempt that failed, from 1.
    pub attempt: u32,
    /// The largest number of times that it is sent again.
    pub most: u32,
    /// How long it waits.
    pub wait: Duration,
}

/// Where retries are told.
#[derive(Clone, Debug)]
pub(crate) struct Retries(broadcast::Sender<Retry>);

impl Default for Retries {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl Retries {
    /// Notifies the followers; nobody need be there.
    pub(crate) fn tell(&self, retry: Retry) {
        // It fails where nobody follows.
        let _ = self.0.send(retry);
    }

    /// Hears of every retry from now on.
    pub(crate) fn follow(&self) -> broadcast::Receiver<Retry> {
        self.0.subscribe()
    }
}
