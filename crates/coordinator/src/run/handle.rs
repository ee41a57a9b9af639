//! A run as those see it who do not work on it.
//!
//! The run belongs to its dispatcher and to what that has started: with them its journal is closed and its lease given
//! back, however they end. A handle keeps nothing open. What was recorded can be read with it for ever, and whoever
//! waits for more hears of the end.

use std::sync::{Arc, Weak};

use orchestrate_core::{RunId, RunState};
use orchestrate_journal::Store;
use tokio::sync::watch;

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// A handle that keeps no run open.
#[derive(Clone)]
pub(crate) struct RunHandle {
    pub(crate) id: RunId,
    pub(crate) store: Store,
    /// The durable state; nobody sends another one once the run has ended.
    pub(crate) state: watch::Receiver<Arc<RunState>>,
    context: Weak<RunContext>,
}

impl RunHandle {
    /// Makes a handle to a run.
    pub(crate) fn new(context: &Arc<RunContext>) -> Self {
        Self {
            id: context.run.clone(),
            store: context.store.clone(),
            state: context.journal.watch(),
            context: Arc::downgrade(context),
        }
    }

    /// Returns what works on the run, to be used and given back at once; fails if the run has ended.
    pub(crate) fn context(&self) -> Result<Arc<RunContext>, CoordinatorError> {
        self.context.upgrade().ok_or_else(|| self.ended())
    }

    /// Says that the run has ended.
    pub(crate) fn ended(&self) -> CoordinatorError {
        CoordinatorError::Ended(self.id.clone())
    }
}
