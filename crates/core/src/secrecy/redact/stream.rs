//! Redacts a text that arrives in pieces, since a secret may span two of them.

use super::redactor::Redactor;

/// Retains the end of a text that may be the beginning of a secret.
#[derive(Debug)]
pub struct RedactedStream {
    redactor: Redactor,
    held: String,
}

impl RedactedStream {
    /// Creates the stream of one text.
    pub fn new(redactor: &Redactor) -> Self {
        Self {
            redactor: redactor.clone(),
            held: String::new(),
        }
    }

    /// Adds the next piece, and returns the text that can be shown now.
    #[must_use]
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.redactor.take_settled(&mut self.held)
    }

    /// Returns the retained rest at the end of the text.
    #[must_use]
    pub fn finish(&mut self) -> String {
        self.redactor.owned(std::mem::take(&mut self.held))
    }
}
