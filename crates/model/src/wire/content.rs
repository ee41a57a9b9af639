//! The common parts of both protocols: the limits, values, names and ids of a reply.

use std::collections::HashSet;

use serde_json::Value;

use super::fault::Fault;
use crate::model::Delta;

/// Maximum size of an event, several times a whole reply of the largest models.
pub(crate) const MAX_EVENT_BYTES: usize = 16 << 20;
/// Maximum size of a stream: enough for 128k tokens in chunks of one token, each with several
/// hundred bytes of framing.
pub(crate) const MAX_STREAM_BYTES: usize = 256 << 20;
/// Maximum size of the content of one reply: text, reasoning and arguments together.
pub(super) const MAX_CONTENT_BYTES: usize = 16 << 20;
/// Maximum number of calls, or blocks, of one reply; further ones are ignored, as if the
/// model had stopped there.
pub(super) const MAX_CALLS: usize = 128;
/// Maximum length of a call's id, longer than those of any provider. A longer id is replaced with
/// one of ours.
pub(super) const MAX_ID_CHARS: usize = 256;
/// Maximum length of a tool's name that providers accept in a conversation.
pub(super) const MAX_NAME_CHARS: usize = 64;

/// The caller's callback for deltas.
pub(crate) type OnDelta<'a> = &'a mut (dyn for<'d> FnMut(Delta<'d>) + Send);

/// Counts the content of a reply against its limit.
#[derive(Debug, Default)]
pub(super) struct ContentMeter(usize);

impl ContentMeter {
    pub(super) fn add(&mut self, text: &str) -> Result<(), Fault> {
        self.0 = self.0.saturating_add(text.len());
        if self.0 > MAX_CONTENT_BYTES {
            return Err(Fault::TooLarge {
                what: "the reply's content",
                limit: MAX_CONTENT_BYTES,
            });
        }
        Ok(())
    }

    /// Counts a value by its text, or by the JSON that it is written as.
    pub(super) fn add_value(&mut self, value: &Value) -> Result<(), Fault> {
        match value {
            Value::String(text) => self.add(text),
            other => self.add(&other.to_string()),
        }
    }
}

/// Returns a text of an object; `None` if there is none, or if it is empty.
pub(super) fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    let text = value.get(key)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// Returns a number; zero if there is none.
pub(super) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Parses all values of an event. Servers that omit the blank line between events send several in
/// one.
pub(super) fn values_of(data: &str) -> Result<Vec<Value>, Fault> {
    if let Ok(value) = serde_json::from_str(data) {
        return Ok(vec![value]);
    }
    let mut values = Vec::new();
    for line in data.lines() {
        values.push(serde_json::from_str(line).map_err(|error| Fault::garbage(line, &error))?);
    }
    Ok(values)
}

/// Makes the ids of a reply's calls present and unique, since results are matched by id.
pub(super) fn settle_ids(ids: &mut [String], turn: u32) {
    let mut seen = HashSet::new();
    for (at, id) in ids.iter_mut().enumerate() {
        if id.is_empty() || id.len() > MAX_ID_CHARS || seen.contains(id) {
            *id = format!("call_{turn}_{}", at + 1);
        }
        while seen.contains(id) {
            id.push('x');
        }
        seen.insert(id.clone());
    }
}

/// Cuts a name to the length that providers accept when it is sent back.
pub(super) fn cut_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Converts a name or an id to a form that every provider accepts (`[a-zA-Z0-9_-]+`).
pub(super) fn plain(text: &str, limit: usize) -> String {
    if text.is_empty() {
        return "unnamed".to_owned();
    }
    text.chars().map(accepted).take(limit).collect()
}

fn accepted(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
        c
    } else {
        '_'
    }
}
