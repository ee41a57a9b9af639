//! The worker's end of its link to the coordinator: the only connection between the two.
//!
//! Only [requests](crate::link::requests) and replies pass through it. It belongs to one task,
//! which no request names. The run's state and its journal stay behind it.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use orchestrate_core::{AgentId, RunId, TaskRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{CoordinatorError, LinkError};
use crate::link::requests::{Facts, LinkReply, LinkRequest, ReadTask, Record, Request, TellLive};
use crate::run::program::live::LiveItem;

/// The reply to a request, once it is there.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<LinkReply, LinkError>> + Send>>;

/// The coordinator's end of a link.
pub(crate) trait Answers: Send + Sync {
    /// Takes a request, and answers it while the reply is waited for.
    /// [`EndCall`](super::requests::EndCall) and [`TellLive`] are carried out even if it is not.
    fn answer(self: Arc<Self>, request: LinkRequest) -> Answer;
}

/// One worker's connection to the coordinator.
#[derive(Clone)]
pub(crate) struct WorkerLink {
    pub(crate) run: RunId,
    /// The agent, whose id is its task's.
    pub(crate) agent: AgentId,
    coordinator: Arc<dyn Answers>,
}

impl WorkerLink {
    /// Creates the link of an agent to a coordinator that answers for it.
    pub(crate) fn new(run: RunId, agent: AgentId, coordinator: Arc<dyn Answers>) -> Self {
        Self {
            run,
            agent,
            coordinator,
        }
    }

    /// Sends a request; the future resolves to its reply.
    pub(crate) fn ask<R: Request>(
        &self,
        request: R,
    ) -> impl Future<Output = Result<R::Reply, CoordinatorError>> + Send + use<R> {
        let asked = as_received(request.into())
            .map(|request| Arc::clone(&self.coordinator).answer(request));
        async move {
            let reply = as_received(asked?.await)??;
            Ok(R::reply(reply)
                .ok_or_else(|| LinkError::Run("read the reply to another request".to_owned()))?)
        }
    }

    /// Reads the task's record.
    pub(crate) async fn task(&self) -> Result<TaskRecord, CoordinatorError> {
        self.ask(ReadTask {}).await
    }

    /// Tells the followers of the run of something that is not recorded.
    pub(crate) fn tell(&self, item: LiveItem) {
        drop(self.ask(TellLive { item }));
    }

    /// Records events, with the bytes that they name; returns when they are durable.
    pub(crate) async fn record(&self, facts: impl Into<Facts>) -> Result<(), CoordinatorError> {
        self.ask(Record {
            facts: facts.into(),
        })
        .await
    }
}

/// Returns a message as a coordinator, or a worker, elsewhere would receive it.
///
/// Both are in one process, so the message is passed on as it is; but a build with debug
/// assertions, such as those of the tests, sends it through JSON, so that every test of a run shows
/// that nothing else than data passes.
fn as_received<T: Serialize + DeserializeOwned + Debug + PartialEq>(
    message: T,
) -> Result<T, LinkError> {
    if !cfg!(debug_assertions) {
        return Ok(message);
    }
    let lost = |error: serde_json::Error| LinkError::Run(format!("pass a message on: {error}"));
    let text = serde_json::to_vec(&message).map_err(lost)?;
    let received = serde_json::from_slice(&text).map_err(lost)?;
    debug_assert_eq!(
        received, message,
        "a message is another one when it is received"
    );
    Ok(received)
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message {
        sent: u32,
        #[serde(skip)]
        left_out: u32,
    }

    #[test]
    fn a_whole_message_is_received() {
        let message = || Message {
            sent: 1,
            left_out: 0,
        };
        assert_eq!(as_received(message()).unwrap(), message());
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "a message is another one when it is received")]
    fn a_message_that_loses_a_part_is_noticed() {
        let _ = as_received(Message {
            sent: 1,
            left_out: 1,
        });
    }
}
