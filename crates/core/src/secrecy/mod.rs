//! What must not get out: secrets, which are removed from texts, and private data, which an agent
//! that has read text from outside may not send.
//!
//! Hides the forms in which secrets occur, and what counts as private or from outside.

mod redact;
pub mod taint;

pub use redact::{RedactedStream, RedactionError, Redactor, Secret};
