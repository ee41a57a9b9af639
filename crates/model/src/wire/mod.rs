//! What goes over the wire: two protocols, each a pure pair of request body and stream reader.
//!
//! Hand-written on purpose. genai 0.7 was to do this; read and tried, its stream readers drop calls without an
//! `index`, join calls that share one, lose Anthropic events when a chunk ends inside CRLF, and buffer an
//! event without bound in quadratic time, before any hook of theirs can see it. Everything here is free of
//! IO: bytes in, replies out. A reader that has not seen its protocol's end gives no reply.

mod arguments;
pub(crate) mod chat;
mod content;
pub(crate) mod fault;
pub(crate) mod messages;
mod reader;
pub(crate) mod sse;

pub(crate) use content::{MAX_EVENT_BYTES, MAX_STREAM_BYTES, OnDelta};
pub(crate) use reader::{Protocol, Reader};

#[cfg(test)]
mod tests;
