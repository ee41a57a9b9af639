//! Repeats failed requests where that can help.
//!
//! A failed attempt has no effects, since no part of an incomplete reply is acted upon. The wait is what
//! the provider asks for, or else grows exponentially with jitter, as in both vendors' own clients.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use backon::{BackoffBuilder as _, ExponentialBuilder};
use orchestrate_core::{ModelReply, ModelRequest};

use crate::error::ModelError;
use crate::model::{Delta, Model};
use crate::rate_gate::RateGate;

/// The first wait, as in the vendors' clients.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait that we choose ourselves, before jitter, which at most doubles it.
const LONGEST_WAIT: Duration = Duration::from_secs(32);
/// The longest wait that a provider can ask for; a request for an hour is cut to this.
const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(300);
/// Retries of an overloaded or rate-limited provider: a minute and a half, by our own waits before jitter.
const RETRIES: u32 = 8;
/// Retries if no server responds or a reply breaks: a few seconds, since the user may have to act.
const BROKEN_RETRIES: u32 = 3;

/// A model that retries the requests to another one.
#[derive(Debug)]
pub(crate) struct Retrying<M> {
    inner: M,
    gate: Arc<RateGate>,
}

impl<M: Model> Retrying<M> {
    /// Wraps a model; every attempt first passes the gate.
    pub(crate) fn new(inner: M, gate: Arc<RateGate>) -> Self {
        Self { inner, gate }
    }
}

#[async_trait]
impl<M: Model> Model for Retrying<M> {
    async fn complete(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError> {
        let backoff = ExponentialBuilder::new()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_factor(2.0)
            .with_jitter()
            .without_max_times()
            .build();
        let mut failed = 0;
        for own_wait in backoff {
            self.gate.pass().await;
            let error = match self.inner.complete(request, on_delta).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            failed += 1;
            let most = retries(&error);
            if failed > most {
                return Err(error);
            }
            let wait = error.retry_after().map_or(own_wait, |asked| asked.min(LONGEST_ASKED_WAIT));
            tracing::info!(%error, attempt = failed, ?wait, "asking the model again");
            on_delta(Delta::Retry { attempt: failed, most, wait, cause: &error });
            if error.is_rate_limit() {
                self.gate.pause(wait);
            } else {
                tokio::time::sleep(wait).await;
            }
        }
        Err(ModelError::Setup { problem: "the waits between attempts ran out".to_owned() })
    }
}

fn retries(error: &ModelError) -> u32 {
    match error {
        ModelError::Unavailable { .. } => RETRIES,
        error if error.is_retryable() => BROKEN_RETRIES,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
