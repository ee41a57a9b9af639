//! The two protocols behind one face.

use orchestrate_core::{ModelReply, ModelRequest};
use serde_json::Value;

use super::chat::ChatReader;
use super::content::OnDelta;
use super::fault::Fault;
use super::messages::MessagesReader;
use super::sse::Event;

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

    /// Reports whether the protocol's end has been seen; what comes after it does not count.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Chat(reader) => reader.has_ended(),
            Self::Messages(reader) => reader.has_ended(),
        }
    }

    /// Returns the reply, if the stream came to its end.
    pub(crate) fn finish(self, request: &ModelRequest) -> Result<ModelReply, Fault> {
        match self {
            Self::Chat(reader) => reader.finish(request),
            Self::Messages(reader) => reader.finish(request),
        }
    }
}
