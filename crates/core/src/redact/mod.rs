//! The one redactor: keeps what is secret out of everything that is shown, recorded or sent elsewhere.
//!
//! It is built from the secrets of one run and knows each of them in every form in which programs write texts: as it
//! is, in either case, reversed, escaped for JSON, percent-encoded, as hexadecimal digits and as base64 at each of
//! its three alignments. Texts are redacted where they enter (a reply, a result, an output), before anything is
//! decided or recorded, so a replay meets the same texts. Deliberately absent: any guess at what might be a secret.

mod forms;
mod redactor;
mod secret;
mod stream;
#[cfg(test)]
mod tests;

pub use redactor::Redactor;
pub use secret::Secret;
pub use stream::RedactedStream;
