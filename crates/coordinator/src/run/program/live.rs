//! What happens in a run and is not recorded: the pieces of a model's reply before it is whole, the
//! progress of a call, that a request is sent again. It is for display only, and lost if nobody
//! follows the run.

use std::time::Duration;

use orchestrate_core::run::feed::Live;
use orchestrate_core::{CallId, TaskId};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

/// The maximum number of items that a follower may lag behind; older ones are dropped.
const BEHIND: usize = 1024;

/// Something that happens to an agent and is not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveItem {
    /// A piece of the answer that its model is giving.
    Text {
        /// The agent.
        task: TaskId,
        /// The piece.
        delta: String,
    },
    /// A piece of its model's reasoning.
    Reasoning {
        /// The agent.
        task: TaskId,
        /// The piece.
        delta: String,
    },
    /// What a tool says of a call that has not ended.
    Progress {
        /// The agent.
        task: TaskId,
        /// The call's id within its turn.
        call: CallId,
        /// What it says.
        text: String,
    },
    /// A request is sent again; the pieces of this reply so far are void.
    Retry(Retry),
}

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

/// The sender of live items.
#[derive(Clone, Debug)]
pub(crate) struct LiveItems(broadcast::Sender<Live<LiveItem>>);

impl Default for LiveItems {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl LiveItems {
    /// Tells the followers, if there are any, of something that happened after this event.
    pub(crate) fn tell(&self, after: u64, item: LiveItem) {
        // Fails if there are no followers.
        let _ = self.0.send(Live { after, item });
    }

    /// Returns a receiver of all items from now on.
    pub(crate) fn follow(&self) -> broadcast::Receiver<Live<LiveItem>> {
        self.0.subscribe()
    }
}
