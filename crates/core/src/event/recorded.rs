//! An event as the journal holds it.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::ids::RunId;

/// An event with its position in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The run.
    pub run_id: RunId,
    /// The sequence number, counted from 1 in each run.
    pub seq: u64,
    /// Unix milliseconds.
    pub ts_ms: u64,
    /// The version of the event's format.
    pub v: u32,
    /// The event.
    pub event: Event,
}
