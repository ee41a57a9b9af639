//! The events of an open run, for a program that follows it.

use std::collections::VecDeque;
use std::sync::Arc;

use orchestrate_core::RunState;
use orchestrate_core::run::feed::{Feed, FeedError, Followed, Live};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self};

use crate::error::CoordinatorError;
use crate::run::handle::RunHandle;
use crate::run::program::live::LiveItem;

/// How many events are read from the journal at once.
const EVENTS_AT_ONCE: usize = 256;

/// Every event of a run once and in order, and what is not recorded. Events are read from the
/// journal on demand, so a slow reader delays nothing and misses none; it may miss what is not
/// recorded.
pub struct RunEvents {
    run: RunHandle,
    feed: Feed<LiveItem>,
    live: broadcast::Receiver<Live<LiveItem>>,
    due: VecDeque<Followed<LiveItem>>,
    has_ended: bool,
}

impl RunEvents {
    pub(crate) fn new(
        run: RunHandle,
        live: broadcast::Receiver<Live<LiveItem>>,
        seen: u64,
    ) -> Result<Self, CoordinatorError> {
        let newest = run.state.borrow().seq;
        let feed = Feed::new(seen, newest).map_err(|source| feed_error(&run, source))?;
        Ok(Self {
            run,
            feed,
            live,
            due: VecDeque::new(),
            has_ended: false,
        })
    }

    /// Returns the newest state of the run.
    pub fn state(&self) -> Arc<RunState> {
        Arc::clone(&self.run.state.borrow())
    }

    /// Reports whether everything up to this event has been returned, and nothing after it.
    pub fn stand_at(&self, seq: u64) -> bool {
        self.due.is_empty() && self.feed.seen() == seq
    }

    /// Returns what is next, or `None` if that has not happened yet. Nothing is waited for.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read.
    pub fn try_next(&mut self) -> Result<Option<Followed<LiveItem>>, CoordinatorError> {
        if self.due.is_empty() {
            self.read()?;
        }
        Ok(self.due.pop_front())
    }

    /// Returns what is next, or `None` once the run has ended and everything has been returned.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read, and at the end with the error for which the run has
    /// ended, such as a base that does not pass the run's check.
    pub async fn next(&mut self) -> Result<Option<Followed<LiveItem>>, CoordinatorError> {
        loop {
            // Before reading: an event recorded afterwards is another change.
            self.run.state.mark_unchanged();
            if let Some(next) = self.try_next()? {
                return Ok(Some(next));
            }
            if self.has_ended {
                return self.run.refusal()?.map_or(Ok(None), Err);
            }
            tokio::select! {
                // What is recorded first, since live items wait for it.
                biased;
                changed = self.run.state.changed() => self.has_ended = changed.is_err(),
                item = self.live.recv() => match item {
                    Ok(item) => self.due.extend(self.feed.live(item)),
                    Err(RecvError::Lagged(_)) => {}
                    // The run is about to end; its last events are still to be read.
                    Err(RecvError::Closed) => {
                        self.has_ended = self.run.state.changed().await.is_err();
                    }
                },
            }
        }
    }

    fn read(&mut self) -> Result<(), CoordinatorError> {
        let facts = self
            .run
            .store
            .events(&self.run.id, self.feed.seen(), EVENTS_AT_ONCE)?;
        let given = self.feed.facts(facts);
        self.due
            .extend(given.map_err(|source| feed_error(&self.run, source))?);
        Ok(())
    }
}

fn feed_error(run: &RunHandle, source: FeedError) -> CoordinatorError {
    CoordinatorError::Feed {
        run: run.id.clone(),
        source,
    }
}
