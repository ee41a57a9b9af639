//! An event as a line of `watch`, `log` and `--output-format stream-json`.

use orchestrate_core::{Event, Recorded};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Envelope;

/// An event of a run, as `watch`, `log` and `--output-format stream-json` print it. Readers ignore
/// types that they do not know.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EventLine {
    /// The number of the event, from 1 in each run.
    seq: u64,
    /// Of `approval.requested`: the hash that `approve CALL --hash` takes; absent if the call
    /// cannot be shown in full, and therefore not be approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<String>,
    /// The content that the event only refers to, where `log --tools` and `log --transcript` add
    /// it: a text, or the reply of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Value>,
    #[serde(flatten)]
    event: Event,
}

impl EventLine {
    /// Creates the line of an event.
    pub(crate) fn new(fact: &Recorded) -> Self {
        Self {
            seq: fact.seq,
            hash: None,
            content: None,
            event: fact.event.clone(),
        }
    }

    /// Puts the line of an event into its envelope.
    pub(crate) fn in_envelope(self, fact: &Recorded) -> Envelope<Self> {
        Envelope::at(fact.ts_ms, Some(&fact.run_id), self)
    }
}
