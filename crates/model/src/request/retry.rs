//! Repeats failed requests where that can help.
//!
//! A failed attempt has no effects, since no part of an incomplete reply is acted upon. The wait is
//! what the provider asks for, or else grows exponentially with jitter, as in both vendors' own
//! clients. While an endpoint does not answer, requests are repeated for as long as the user is
//! patient; an endpoint that rejects the key or the account is not asked again for a while, by any
//! agent.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use backon::{BackoffBuilder as _, ExponentialBuilder};
use orchestrate_core::agent::model_search::{SearchReply, SearchRequest};
use orchestrate_core::{ModelReply, ModelRequest};
use tokio::time::Instant;

use crate::error::ModelError;
use crate::model::{Delta, Model};
use crate::request::account::Account;
use crate::request::rate_gate::RateGate;

/// The first wait, as in the vendors' clients.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait that we choose ourselves, before jitter, which at most doubles it.
const LONGEST_WAIT: Duration = Duration::from_secs(32);
/// The longest wait that a provider can ask for; a request for an hour is cut to this.
const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(300);
/// Retries if a reply breaks: a few seconds, since the same reply may break each time.
const BROKEN_RETRIES: u32 = 3;

/// Returns a model whose failed requests are repeated where that can help, as those of a provider
/// are: outages up to `patience` are waited for, and all requests wait while it asks for that.
pub fn retried(model: Arc<dyn Model>, patience: Duration) -> Arc<dyn Model> {
    let (gate, account) = (Arc::default(), Arc::default());
    Arc::new(Retrying::new(model, gate, account, patience))
}

/// A model that retries the requests to another one.
#[derive(Debug)]
pub(crate) struct Retrying<M> {
    inner: M,
    gate: Arc<RateGate>,
    account: Arc<Account>,
    patience: Duration,
}

impl<M: Model> Retrying<M> {
    /// Wraps a model of an account; every attempt first passes the gate. Outages up to `patience`
    /// are waited for.
    pub(crate) fn new(
        inner: M,
        gate: Arc<RateGate>,
        account: Arc<Account>,
        patience: Duration,
    ) -> Self {
        Self {
            inner,
            gate,
            account,
            patience,
        }
    }

    /// Returns how long to wait before the next attempt, or `None` if there is to be none.
    fn wait(
        &self,
        error: &ModelError,
        broken: u32,
        waited: Duration,
        own: Duration,
    ) -> Option<Duration> {
        let wait = error
            .retry_after()
            .map_or(own, |asked| asked.min(LONGEST_ASKED_WAIT));
        if error.is_outage() {
            // The last attempt is made when the patience ends.
            let left = self
                .patience
                .checked_sub(waited)
                .filter(|left| !left.is_zero())?;
            return Some(wait.min(left));
        }
        (error.is_retryable() && broken <= BROKEN_RETRIES).then_some(wait)
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
        let (mut failed, mut broken) = (0, 0);
        let mut outage: Option<Instant> = None;
        for own_wait in backoff {
            self.gate.pass().await;
            self.account.require_accepted()?;
            let error = match self.inner.complete(request, on_delta).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            failed += 1;
            if error.is_outage() {
                outage.get_or_insert_with(Instant::now);
            } else {
                // It has answered, so the outage is over, and the next one has its own time.
                outage = None;
                broken += 1;
            }
            let waited = outage.map_or(Duration::ZERO, |since| since.elapsed());
            let Some(wait) = self.wait(&error, broken, waited, own_wait) else {
                return Err(self.account.note(error));
            };
            tracing::info!(%error, attempt = failed, ?wait, "asking the model again");
            let patience = error.is_outage().then_some(self.patience);
            on_delta(Delta::Retry {
                attempt: failed,
                wait,
                waited,
                patience,
                cause: &error,
            });
            if error.is_rate_limit() {
                self.gate.pause(wait);
            } else {
                tokio::time::sleep(wait).await;
            }
        }
        Err(ModelError::Setup {
            problem: "the waits between attempts ran out".to_owned(),
        })
    }

    /// Makes one attempt, which waits as the others while the endpoint asks for that.
    async fn search(&self, request: &SearchRequest) -> Result<SearchReply, ModelError> {
        self.gate.pass().await;
        self.account.require_accepted()?;
        let error = match self.inner.search(request).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        if error.is_rate_limit() {
            self.gate.pause(
                error
                    .retry_after()
                    .map_or(FIRST_WAIT, |asked| asked.min(LONGEST_ASKED_WAIT)),
            );
        }
        Err(self.account.note(error))
    }
}

#[cfg(test)]
mod tests;
