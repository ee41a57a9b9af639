//! The state as it will be once all accepted facts are durable.
//!
//! One copy of the durable state serves a whole group of jobs; it is created at the first fact. The
//! changes of a refused job are undone by applying the accepted facts again. That is rare, and
//! other groups pay nothing for it. Nothing here is durable or touches a file.

use std::sync::Arc;

use orchestrate_core::RunState;
use orchestrate_core::event::{Event, IllegalEvent, Recorded, VERSION};
use orchestrate_core::ids::RunId;

/// The facts accepted on top of the durable state, and the resulting state.
pub(crate) struct Scratch {
    run: RunId,
    now: u64,
    /// `None` until the run has begun.
    durable: Option<Arc<RunState>>,
    /// `None` until a fact is accepted.
    next: Option<RunState>,
    accepted: Vec<Recorded>,
}

/// A number of accepted facts to go back to.
#[derive(Clone, Copy)]
pub(crate) struct Mark(usize);

impl Scratch {
    /// Starts from the durable state; `None` starts a run.
    pub(crate) fn new(run: &RunId, now: u64, durable: Option<Arc<RunState>>) -> Self {
        Self {
            run: run.clone(),
            now,
            durable,
            next: None,
            accepted: Vec::new(),
        }
    }

    /// Returns the state with everything accepted so far, or `None` while the run has not begun.
    pub(crate) fn state(&self) -> Option<&RunState> {
        self.next.as_ref().or(self.durable.as_deref())
    }

    /// Returns a mark of the facts accepted so far.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.accepted.len())
    }

    /// Returns the facts accepted since a mark.
    pub(crate) fn since(&self, mark: Mark) -> &[Recorded] {
        let (_, since) = self.accepted.split_at(mark.0.min(self.accepted.len()));
        since
    }

    /// Accepts facts in order; after a refusal, the caller has to go back to its mark.
    pub(crate) fn accept(&mut self, events: Vec<Event>) -> Result<(), IllegalEvent> {
        for event in events {
            let newest = self.state();
            let fact = Recorded {
                run_id: self.run.clone(),
                seq: newest.map_or(0, |state| state.seq) + 1,
                // Whatever the clock returns, the time of a run never decreases.
                ts_ms: newest.map_or(self.now, |state| self.now.max(state.updated_ms)),
                v: VERSION,
                event,
            };
            self.fold(&fact)?;
            self.accepted.push(fact);
        }
        Ok(())
    }

    /// Discards the facts accepted since a mark.
    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.next = None;
        self.accepted.truncate(mark.0);
        let accepted = std::mem::take(&mut self.accepted);
        for fact in &accepted {
            assert!(
                self.fold(fact).is_ok(),
                "BUG: a fact that was accepted is refused"
            );
        }
        self.accepted = accepted;
    }

    /// Returns the new state, or `None` if nothing was accepted.
    pub(crate) fn into_next(self) -> Option<RunState> {
        self.next
    }

    fn fold(&mut self, fact: &Recorded) -> Result<(), IllegalEvent> {
        if self.next.is_none() {
            self.next = self.durable.as_deref().cloned();
        }
        match &mut self.next {
            Some(state) => state.apply(fact),
            None => RunState::begin(fact).map(|state| self.next = Some(state)),
        }
    }
}
