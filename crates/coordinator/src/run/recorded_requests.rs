//! Reads recorded requests, exactly as they were sent.

use std::collections::BTreeMap;

use orchestrate_core::event::Recorded;
use orchestrate_core::{BlobId, RequestChain, TaskId};
use orchestrate_journal::{JournalError, Store};

use crate::error::CoordinatorError;

/// Derives the requests of a run's agents from their recorded parts.
///
/// The parts are kept in memory, since an agent's next request has most of them as well.
pub struct RequestReader<'a> {
    store: &'a Store,
    agents: BTreeMap<TaskId, RequestChain>,
    parts: BTreeMap<BlobId, Vec<u8>>,
}

impl<'a> RequestReader<'a> {
    /// Creates a reader of one run's requests.
    pub fn new(store: &'a Store) -> Self {
        Self {
            store,
            agents: BTreeMap::new(),
            parts: BTreeMap::new(),
        }
    }

    /// Applies the next fact and returns the request that was sent, as JSON, if the fact is one of
    /// a request (`model.requested`). It needs all facts of the request's agent in order, from the
    /// first; those of others may be left out.
    ///
    /// # Errors
    ///
    /// Fails if a part cannot be read, or if the bytes do not match the recorded hash.
    pub fn read(&mut self, fact: &Recorded) -> Result<Option<Vec<u8>>, CoordinatorError> {
        let Some(task) = fact.event.task() else {
            return Ok(None);
        };
        let (store, parts) = (self.store, &mut self.parts);
        let part = |id: &BlobId| -> Result<Vec<u8>, JournalError> {
            if let Some(bytes) = parts.get(id) {
                return Ok(bytes.clone());
            }
            let bytes = store.blob(id)?;
            parts.insert(id.clone(), bytes.clone());
            Ok(bytes)
        };
        let derived = self
            .agents
            .entry(task.clone())
            .or_default()
            .derive(fact, part);
        derived.map_err(|error| CoordinatorError::underivable(&fact.run_id, fact.seq, error))
    }
}
