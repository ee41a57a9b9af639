//! The one face that every model has, whoever answers behind it.
//!
//! A reply is whole or it is an error: what a stream gave before it broke reaches nobody but the display.
//! Dropping the future of [`Model::complete`] cancels the request; nothing else has to be done.
//! Deliberately absent: what to do with a reply. That is decided by `AgentLoop` in core.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::{ModelReply, ModelRequest};

use crate::error::ModelError;

/// Answers requests: a provider over the network, a script, or recorded replies.
#[async_trait]
pub trait Model: Send + Sync {
    /// Returns the reply to one request, telling `on_delta` what arrives meanwhile.
    ///
    /// # Errors
    ///
    /// The last error when retrying did not help, or the first that retrying cannot help.
    async fn complete(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError>;
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
}

/// What arrives before a reply is whole; for the display only.
#[derive(Clone, Copy, Debug)]
pub enum Delta<'a> {
    /// A piece of the answer.
    Text(&'a str),
    /// A piece of the model's reasoning.
    Reasoning(&'a str),
    /// A call begins; its arguments are shown only once they are whole.
    ToolCall {
        /// The tool's name as the model wrote it.
        name: &'a str,
    },
    /// The request waits and is then sent again: what was shown of this reply is void.
    Retry {
        /// The number of the failed attempt, from 1.
        attempt: u32,
        /// How often such a request is sent again at most.
        most: u32,
        /// How long it waits.
        wait: Duration,
        /// Why the attempt failed.
        cause: &'a ModelError,
    },
}
