//! The one redactor: keeps what is secret out of everything that is shown, recorded or sent elsewhere.
//!
//! It is built from the secrets of one run and knows each of them in every form in which programs
//! write texts: as it is, in either case, reversed, and as digits, base32 and base64 at each of their
//! alignments. A text is read as it is and as what its escapes stand for, also without what stands
//! between its letters and the offsets of a dump; so the passes over it are few and each is linear.
//! Compression and encryption it cannot see through. Texts are redacted where they enter (a reply, a
//! result, an output), before anything is decided or recorded, so a replay meets the same texts.
//! Deliberately absent: any guess at what might be a secret.

mod forms;
mod needles;
mod redactor;
mod secret;
mod stream;
#[cfg(test)]
mod tests;
mod views;

pub(crate) use redactor::MARK as REDACTED;
pub use redactor::{RedactionError, Redactor};
pub use secret::Secret;
pub use stream::RedactedStream;
