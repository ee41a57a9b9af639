//! What both protocols do with the content of a reply: its limits, its values, its names and ids.

use std::collections::HashSet;

use serde_json::Value;

use super::fault::Fault;
use crate::model::Delta;

/// The largest single event: a whole reply of the largest models fits several times.
pub(crate) const MAX_EVENT_BYTES: usize = 16 << 20;
/// The largest stream: 128k tokens in chunks of one token, each with some hundred bytes of framing, fit.
pub(crate) const MAX_STREAM_BYTES: usize = 256 << 20;
/// The largest content of one reply, text, reasoning and arguments together.
pub(super) const MAX_CONTENT_BYTES: usize = 16 << 20;
/// The most calls, or blocks, of one reply; further ones are ignored, as if the model had stopped there.
pub(super) const MAX_CALLS: usize = 128;
/// The longest id of a call: longer than any that providers make. Another gets one of ours.
pub(super) const MAX_ID_CHARS: usize = 256;
/// The longest name of a tool that providers accept in a conversation.
pub(super) const MAX_NAME_CHARS: usize = 64;

/// Reports deltas; the boxed face of the caller's closure.
pub(crate) type OnDelta<'a> = &'a mut (dyn for<'d> FnMut(Delta<'d>) + Send);

/// Counts the content of a reply against its limit.
#[derive(Debug, Default)]
pub(super) struct ContentMeter(usize);

impl ContentMeter {
    pub(super) fn add(&mut self, text: &str) -> Result<(), Fault> {
        self.0 = self.0.saturating_add(text.len());
        if self.0 > MAX_CONTENT_BYTES {
            return Err(Fault::TooLarge { what: "the reply's content", limit: MAX_CONTENT_BYTES });
        }
        Ok(())
    }
}

/// Returns every value of an event; servers that forget the blank line put several into one.
pub(super) fn values_of(data: &str) -> Result<Vec<Value>, Fault> {
    if let Ok(value) = serde_json::from_str(data) {
        return Ok(vec![value]);
    }
    data.lines().map(|line| serde_json::from_str(line).map_err(|error| Fault::garbage(line, &error))).collect()
}

/// Makes the ids of a reply's calls present and different, since results are matched by them.
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

/// Cuts a name to what providers accept when it comes back to them.
pub(super) fn cut_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Makes a name or an id acceptable to every provider (`[a-zA-Z0-9_-]+`).
pub(super) fn plain(text: &str, limit: usize) -> String {
    if text.is_empty() {
        return "unnamed".to_owned();
    }
    let accepted = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
    };
    text.chars().map(accepted).take(limit).collect()
}
