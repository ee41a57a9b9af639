//! An event as the journal holds it, and as an object of `--output-format stream-json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{Event, rfc3339};
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

impl Recorded {
    /// Returns the event as one object of `--output-format stream-json`: `type, ts (RFC 3339,
    /// milliseconds), run_id, seq, v` and then the event's own fields.
    pub fn stream_json(&self) -> Value {
        let mut object = serde_json::Map::new();
        let fields = match serde_json::to_value(&self.event) {
            Ok(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        object.insert(
            "type".to_owned(),
            fields.get("type").cloned().unwrap_or(Value::Null),
        );
        object.insert("ts".to_owned(), Value::String(rfc3339(self.ts_ms)));
        object.insert("run_id".to_owned(), Value::String(self.run_id.to_string()));
        object.insert("seq".to_owned(), Value::from(self.seq));
        object.insert("v".to_owned(), Value::from(self.v));
        for (key, value) in fields {
            if key != "type" {
                object.insert(key, value);
            }
        }
        Value::Object(object)
    }
}
