//! The interface that every model implements.
//!
//! A request yields a whole reply or an error; the parts of a stream that broke are only ever
//! displayed. Dropping the future of [`Model::complete`] cancels the request, without further
//! cleanup. Deliberately absent: what to do with a reply, which `AgentLoop` in core decides.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::agent::model_search::{SearchReply, SearchRequest};
use orchestrate_core::{ModelReply, ModelRequest};

use crate::error::ModelError;

/// Answers requests, such as a provider over the network or a script.
#[async_trait]
pub trait Model: Send + Sync {
    /// Returns the reply to one request, and calls `on_delta` with the parts that arrive meanwhile.
    ///
    /// # Errors
    ///
    /// Returns the first error that a retry cannot help, or the last one when all retries are used
    /// up.
    async fn complete(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError>;

    /// Lets the model's endpoint search the web, with one attempt: each is paid for.
    ///
    /// # Errors
    ///
    /// [`ModelError::NoSearch`] if it has no search of its own, otherwise as [`Model::complete`].
    async fn search(&self, request: &SearchRequest) -> Result<SearchReply, ModelError> {
        Err(ModelError::no_search(&request.model))
    }
}

#[async_trait]
impl<M: Model + ?Sized> Model for Arc<M> {
    async fn complete(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError> {
        M::complete(self, request, on_delta).await
    }

    async fn search(&self, request: &SearchRequest) -> Result<SearchReply, ModelError> {
        M::search(self, request).await
    }
}

/// Progress of a reply that is not complete yet; for display only.
#[derive(Clone, Copy, Debug)]
pub enum Delta<'a> {
    /// A piece of the answer.
    Text(&'a str),
    /// A piece of the model's reasoning.
    Reasoning(&'a str),
    /// A tool call begins; its arguments are not reported before the reply is complete.
    ToolCall {
        /// The tool's name as the model wrote it.
        name: &'a str,
    },
    /// The request will be sent again after a wait. All deltas of this reply so far are void.
    Retry {
        /// The number of the failed attempt, from 1.
        attempt: u32,
        /// The time until the request is sent again.
        wait: Duration,
        /// The time since the endpoint first failed to answer this request; zero if it did answer.
        waited: Duration,
        /// The time after which waiting ends, if the endpoint does not answer.
        patience: Option<Duration>,
        /// Why the attempt failed.
        cause: &'a ModelError,
    },
}
