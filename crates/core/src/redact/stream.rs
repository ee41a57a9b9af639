//! Redacts a text that arrives in pieces: a secret may begin in one of them and end in another.

use super::redactor::Redactor;

/// Holds back as much of a text as may be the beginning of a secret.
#[derive(Debug)]
pub struct RedactedStream {
    redactor: Redactor,
    held: String,
}

impl RedactedStream {
    /// Creates the stream of one text.
    pub fn new(redactor: &Redactor) -> Self {
        Self { redactor: redactor.clone(), held: String::new() }
    }

    /// Takes the next piece, and returns what can be shown by now.
    #[must_use]
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.redactor.take_settled(&mut self.held)
    }

    /// Returns the rest, once nothing more comes.
    #[must_use]
    pub fn finish(&mut self) -> String {
        self.redactor.owned(std::mem::take(&mut self.held))
    }
}
