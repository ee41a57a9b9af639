//! What goes over the wire: two protocols, each a pure pair of request body and stream reader.
//!
//! Hand-written on purpose. genai 0.7 was to do this; read and tried, its stream readers drop calls without an
//! `index`, join calls that share one, lose Anthropic events when a chunk ends inside CRLF, and buffer an
//! event without bound in quadratic time, before any hook of theirs can see it. Everything here is free of
//! IO: bytes in, replies out. A reader that has not seen its protocol's end gives no reply.

mod arguments;
pub(crate) mod chat;
pub(crate) mod fault;
pub(crate) mod messages;
pub(crate) mod sse;

use orchestrate_core::{ModelReply, ModelRequest};
use serde_json::Value;

use self::chat::ChatReader;
use self::fault::Fault;
use self::messages::MessagesReader;
use self::sse::Event;
use crate::model::Delta;

/// The largest single event: a whole reply of the largest models fits several times.
pub(crate) const MAX_EVENT_BYTES: usize = 16 << 20;
/// The largest stream: 128k tokens in chunks of one token, each with some hundred bytes of framing, fit.
pub(crate) const MAX_STREAM_BYTES: usize = 256 << 20;
/// The largest content of one reply, text, reasoning and arguments together.
const MAX_CONTENT_BYTES: usize = 16 << 20;
/// The most calls, or blocks, of one reply; further ones are ignored, as if the model had stopped there.
const MAX_CALLS: usize = 128;
/// The longest name of a tool that providers accept in a conversation.
const MAX_NAME_CHARS: usize = 64;

/// Tells of deltas; the boxed face of the caller's closure.
pub(crate) type OnDelta<'a> = &'a mut (dyn for<'d> FnMut(Delta<'d>) + Send);

/// A protocol that we speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// OpenAI's Chat Completions, and everybody's who is compatible with it.
    ChatCompletions,
    /// Anthropic's Messages.
    Messages,
}

/// What reads one reply.
#[derive(Debug)]
pub(crate) enum Reader {
    Chat(ChatReader),
    Messages(MessagesReader),
}

impl Protocol {
    /// Makes the reader of one reply.
    pub(crate) fn reader(self) -> Reader {
        match self {
            Self::ChatCompletions => Reader::Chat(ChatReader::default()),
            Self::Messages => Reader::Messages(MessagesReader::default()),
        }
    }
}

impl Reader {
    /// Reads one event of a stream.
    pub(crate) fn event(&mut self, event: &Event, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        match self {
            Self::Chat(reader) => reader.event(event, on_delta),
            Self::Messages(reader) => reader.event(event, on_delta),
        }
    }

    /// Reads a whole reply that did not come as a stream.
    pub(crate) fn whole(&mut self, body: &Value, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        match self {
            Self::Chat(reader) => reader.whole(body, on_delta),
            Self::Messages(reader) => reader.whole(body, on_delta),
        }
    }

    /// Tells whether the protocol's end has been seen; what comes after it does not count.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Chat(reader) => reader.has_ended(),
            Self::Messages(reader) => reader.has_ended(),
        }
    }

    /// Gives the reply, if the stream came to its end.
    pub(crate) fn finish(self, request: &ModelRequest) -> Result<ModelReply, Fault> {
        match self {
            Self::Chat(reader) => reader.finish(request),
            Self::Messages(reader) => reader.finish(request),
        }
    }
}

/// Counts the content of a reply against its limit.
#[derive(Debug, Default)]
struct ContentMeter(usize);

impl ContentMeter {
    fn add(&mut self, text: &str) -> Result<(), Fault> {
        self.0 = self.0.saturating_add(text.len());
        if self.0 > MAX_CONTENT_BYTES {
            return Err(Fault::TooLarge { what: "the reply's content", limit: MAX_CONTENT_BYTES });
        }
        Ok(())
    }
}

/// Gives every value of an event; servers that forget the blank line put several into one.
fn values_of(data: &str) -> Result<Vec<Value>, Fault> {
    if let Ok(value) = serde_json::from_str(data) {
        return Ok(vec![value]);
    }
    data.lines().map(|line| serde_json::from_str(line).map_err(|error| Fault::garbage(line, &error))).collect()
}

/// Makes the ids of a reply's calls present and different, since results are matched by them.
fn settle_ids(ids: &mut [String], turn: u32) {
    let mut seen = std::collections::HashSet::new();
    for (at, id) in ids.iter_mut().enumerate() {
        if id.is_empty() || seen.contains(id) {
            *id = format!("call_{turn}_{}", at + 1);
        }
        while seen.contains(id) {
            id.push('x');
        }
        seen.insert(id.clone());
    }
}

/// Cuts a name to what providers accept when it comes back to them.
fn cut_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Makes a name or an id acceptable to every provider (`[a-zA-Z0-9_-]+`).
fn plain(text: &str, limit: usize) -> String {
    if text.is_empty() {
        return "unnamed".to_owned();
    }
    let accepted = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
    };
    text.chars().map(accepted).take(limit).collect()
}

#[cfg(test)]
mod tests;
