//! A run as seen by code that does not work on it.
//!
//! The run is owned by its dispatcher and the jobs that it started: when they end, however they
//! end, its journal is closed and its lease released. A handle keeps nothing open. Recorded events
//! can be read through it forever, and waiting for more ends with the run.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use orchestrate_core::run::request::{Request, RequestRefused};
use orchestrate_core::{RunId, RunState};
use orchestrate_journal::Store;
use orchestrate_sandbox::Confinement;
use tokio::sync::watch;

use crate::error::CoordinatorError;
use crate::ruling::Ruling;
use crate::run::context::RunContext;
use crate::run::red_base;

/// How long a sender waits for a change of the run before it looks for the answer to a request.
const ANSWER_POLL: Duration = Duration::from_millis(20);

/// A handle that does not keep the run open.
#[derive(Clone)]
pub(crate) struct RunHandle {
    pub(crate) id: RunId,
    pub(crate) store: Store,
    /// The durable state; it is not updated once the run has ended.
    pub(crate) state: watch::Receiver<Arc<RunState>>,
    context: Weak<RunContext>,
    confinement: Confinement,
    stopped_by: Arc<OnceLock<String>>,
}

impl RunHandle {
    /// Creates a handle to a run.
    pub(crate) fn new(context: &Arc<RunContext>) -> Self {
        Self {
            id: context.run.clone(),
            store: context.store.clone(),
            state: context.journal.watch(),
            context: Arc::downgrade(context),
            confinement: context.host.site.sandbox.confinement(),
            stopped_by: Arc::clone(&context.stopped_by),
        }
    }

    /// Returns the run's context, which must be dropped promptly; fails if the run has ended.
    pub(crate) fn context(&self) -> Result<Arc<RunContext>, CoordinatorError> {
        self.context.upgrade().ok_or_else(|| self.ended())
    }

    /// Asks the run for something, as a person would from another process, and returns what has
    /// happened.
    pub(crate) async fn ask(
        &self,
        request: &Request,
    ) -> Result<Ruling<String, RequestRefused>, CoordinatorError> {
        // A request to a run that has ended would wait for the process that continues it.
        self.context()?;
        let id = self.store.send(&self.id, request)?;
        let (mut state, mut has_ended) = (self.state.clone(), false);
        loop {
            match self.store.answer(id)? {
                Some(Ok(said)) => return Ok(Ruling::Granted(said)),
                Some(Err(refused)) => return Ok(Ruling::Refused(refused)),
                None if has_ended => return Err(self.ended()),
                None => {}
            }
            // Answers are recorded like events; a refusal changes nothing, so it is looked for.
            let changed = tokio::time::timeout(ANSWER_POLL, state.changed()).await;
            has_ended = matches!(changed, Ok(Err(_)));
        }
    }

    /// Returns the error of a run that has ended: why it did, if that was for an error.
    pub(crate) fn ended(&self) -> CoordinatorError {
        match self.refusal() {
            Ok(Some(refusal)) => refusal,
            Ok(None) => CoordinatorError::Ended(self.id.clone()),
            Err(error) => error,
        }
    }

    /// Returns for which error a run has ended: its coordinator could not continue, or its base
    /// does not pass the run's check ([`CoordinatorError::RedBase`]). `None` for any other end.
    pub(crate) fn refusal(&self) -> Result<Option<CoordinatorError>, CoordinatorError> {
        if let Some(reason) = self.stopped_by.get() {
            return Ok(Some(CoordinatorError::Stopped {
                run: self.id.clone(),
                reason: reason.clone(),
            }));
        }
        red_base::refusal(&self.state.borrow(), &self.store, self.confinement)
    }
}
