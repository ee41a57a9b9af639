//! An account at an endpoint: once its key or its credit is rejected, no agent asks there again for
//! a while.
//!
//! Twenty agents that each find out by themselves would send twenty requests that cannot succeed,
//! and each would say something else about the same cause.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::collections::Mutex;
use tokio::time::Instant;

use crate::error::ModelError;

/// How long a rejection counts for all requests: long enough for every agent of a run to hear of
/// it, short enough for a task that is retried after the key was mended.
const REJECTED_FOR: Duration = Duration::from_secs(20);

/// The known state of an account.
#[derive(Debug, Default)]
pub(crate) struct Account(Mutex<Option<Rejected>>);

#[derive(Debug)]
struct Rejected {
    until: Instant,
    error: Arc<ModelError>,
}

impl Account {
    /// Fails if the endpoint has just rejected the account.
    pub(crate) fn require_accepted(&self) -> Result<(), ModelError> {
        let rejected = self.0.lock();
        match &*rejected {
            Some(rejected) if Instant::now() < rejected.until => {
                Err(ModelError::AccountRejected(Arc::clone(&rejected.error)))
            }
            _ => Ok(()),
        }
    }

    /// Notes an error that concerns the whole account; returns the error.
    pub(crate) fn note(&self, error: ModelError) -> ModelError {
        if !error.rejects_account() {
            return error;
        }
        let error = Arc::new(error);
        let rejected = Rejected {
            until: Instant::now() + REJECTED_FOR,
            error: Arc::clone(&error),
        };
        *self.0.lock() = Some(rejected);
        ModelError::AccountRejected(error)
    }
}
