//! The two protocols behind one interface.

use orchestrate_core::{ModelReply, ModelRequest};
use serde_json::Value;

use super::chat::ChatReader;
use super::content::OnDelta;
use super::fault::Fault;
use super::messages::MessagesReader;
use super::sse::Event;

/// A supported protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// OpenAI's Chat Completions, also spoken by all compatible servers.
    ChatCompletions,
    /// Anthropic's Messages.
    Messages,
}

/// The reader of one reply.
#[derive(Debug)]
pub(crate) enum Reader {
    Chat(ChatReader),
    Messages(MessagesReader),
}

impl Protocol {
    /// Creates the reader for one reply.
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

    /// Reads a whole reply that was not sent as a stream.
    pub(crate) fn whole(&mut self, body: &Value, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        match self {
            Self::Chat(reader) => reader.whole(body, on_delta),
            Self::Messages(reader) => reader.whole(body, on_delta),
        }
    }

    /// Reports whether the end of the reply has been read; anything after it is ignored.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Chat(reader) => reader.has_ended(),
            Self::Messages(reader) => reader.has_ended(),
        }
    }

    /// Returns the reply, or fails if its end has not been read.
    pub(crate) fn finish(self, request: &ModelRequest) -> Result<ModelReply, Fault> {
        match self {
            Self::Chat(reader) => reader.finish(request),
            Self::Messages(reader) => reader.finish(request),
        }
    }
}
