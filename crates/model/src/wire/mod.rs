//! The wire format: two protocols, each with a function for request bodies and a reader of streams,
//! both pure.
//!
//! This is hand-written on purpose. genai 0.7 was planned for it, and was read and tried: its
//! stream readers drop calls without an `index`, join calls that share one, lose Anthropic events
//! when a chunk ends inside CRLF, and buffer an event without bound in quadratic time, before any
//! of its hooks can see it. Nothing here does IO: bytes in, replies out. A reader that has not seen
//! the end of its protocol's stream returns no reply.

mod answer;
mod arguments;
pub(crate) mod chat;
mod content;
pub(crate) mod fault;
pub(crate) mod messages;
mod reader;
mod search;
pub(crate) mod sse;

pub(crate) use answer::AnswerForm;
pub(crate) use content::{MAX_EVENT_BYTES, MAX_STREAM_BYTES, OnDelta};
pub(crate) use reader::{Protocol, Reader};
pub(crate) use search::SearchApi;

#[cfg(test)]
mod tests;
