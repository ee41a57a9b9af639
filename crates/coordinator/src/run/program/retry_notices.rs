//! Notifications during a run that are not events: that a model request is retried. They are shown
//! to followers of the run and not stored.

use std::time::Duration;

use orchestrate_core::TaskId;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

/// The maximum number of retries that a follower may lag behind; older ones are dropped, since they
/// are over.
const BEHIND: usize = 64;

/// A failed request that is retried after a delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The task whose agent waits.
    pub task: TaskId,
    /// Why the request failed; fits "failed to …".
    pub error: String,
    /// The number of the attempt that failed, from 1.
    pub attempt: u32,
    /// The delay.
    pub wait: Duration,
    /// The time since the endpoint first failed to answer; zero if it answers.
    pub waited: Duration,
    /// The time after which waiting ends, if the endpoint does not answer.
    pub patience: Option<Duration>,
}

/// The sender of retry notifications.
#[derive(Clone, Debug)]
pub(crate) struct Retries(broadcast::Sender<Retry>);

impl Default for Retries {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl Retries {
    /// Notifies the followers, if there are any.
    pub(crate) fn tell(&self, retry: Retry) {
        // Fails if there are no followers.
        let _ = self.0.send(retry);
    }

    /// Returns a receiver of all retries from now on.
    pub(crate) fn follow(&self) -> broadcast::Receiver<Retry> {
        self.0.subscribe()
    }
}
