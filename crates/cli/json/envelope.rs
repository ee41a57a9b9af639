//! The fields that every JSON output has, and how one becomes a line.

use orchestrate_core::RunId;
use orchestrate_core::event::{VERSION, rfc3339};
use orchestrate_journal::unix_ms;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One JSON output: what all of them begin with, and the rest.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Envelope<T> {
    /// When this was so, in UTC: the time of an event, of the newest event of a run that is
    /// reported, otherwise of the output.
    #[schemars(extend("format" = "date-time"))]
    ts: String,
    /// The run; absent if the output is of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    /// The version of the format.
    #[schemars(extend("const" = VERSION))]
    v: u32,
    /// The rest, with its `type`.
    #[serde(flatten)]
    body: T,
}

/// A list, which is never an array of its own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Items<T> {
    /// What is listed.
    pub(crate) items: Vec<T>,
}

impl<T> FromIterator<T> for Items<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self {
            items: items.into_iter().collect(),
        }
    }
}

impl<T> Envelope<T> {
    /// Puts an output of a run, or of none, into its envelope.
    pub(crate) fn new(run: Option<&RunId>, body: T) -> Self {
        Self::at(unix_ms(), run, body)
    }

    /// Puts what was so at this time, in Unix milliseconds, into its envelope.
    pub(crate) fn at(ts_ms: u64, run: Option<&RunId>, body: T) -> Self {
        Self {
            ts: rfc3339(ts_ms),
            run_id: run.cloned(),
            v: VERSION,
            body,
        }
    }
}

impl<T: Serialize + DeserializeOwned> Envelope<T> {
    /// Returns the object, which begins with its `type`.
    pub(crate) fn to_object(&self) -> Result<Value, serde_json::Error> {
        let mut object = serde_json::to_value(self)?;
        if let Value::Object(fields) = &mut object
            && let Some(kind) = fields.shift_remove("type")
        {
            fields.shift_insert(0, "type".to_owned(), kind);
        }
        debug_assert!(
            is_read_back::<T>(&object),
            "its own type does not read {object}"
        );
        Ok(object)
    }
}

/// Reports whether the type reads an output such that it would write the same.
fn is_read_back<T: Serialize + DeserializeOwned>(object: &Value) -> bool {
    let read = serde_json::from_value::<Envelope<T>>(object.clone());
    let again = read.and_then(serde_json::to_value);
    again.is_ok_and(|again| again == *object)
}
