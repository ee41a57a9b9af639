//! The redactor: keeps secrets out of everything that is shown, recorded or sent elsewhere.
//!
//! It is built from the secrets of one run and recognises each of them in every form in which
//! programs write texts: unchanged, in either case, reversed, and as digits, base32 and base64 at
//! each alignment. A text is searched unchanged and with its escapes decoded, also without
//! separators between its letters and without the offsets of a dump; so the passes over it are few
//! and each is linear. Compression and encryption defeat it. Texts are redacted where they enter (a
//! reply, a result, an output), before anything is decided or recorded, so a replay sees the same
//! texts. Deliberately absent: any guess at what might be a secret.

mod forms;
mod needles;
mod redactor;
mod secret;
#[cfg(test)]
mod tests;
mod views;

pub use redactor::{RedactedStream, RedactionError, Redactor};
pub use secret::Secret;
