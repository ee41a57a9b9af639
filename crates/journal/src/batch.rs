//! What is made durable in one step: facts, the blobs that they name, and answers to commands.

use orchestrate_core::event::Event;

use crate::blobs::Blob;
use crate::received::{Answer, InboxId, Reply};

/// Facts, blobs and answers that become durable together or not at all.
///
/// An answer in the same batch as the facts that the command led to makes the command happen exactly once, also if
/// the process dies in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The facts, in order.
    pub events: Vec<Event>,
    /// The blobs that the facts name.
    pub blobs: Vec<Blob>,
    /// Answers to commands.
    pub answers: Vec<Answer>,
}

impl Batch {
    /// Adds a blob.
    #[must_use]
    pub fn with_blob(mut self, blob: Blob) -> Self {
        self.blobs.push(blob);
        self
    }

    /// Adds the answer to a command.
    #[must_use]
    pub fn answering(mut self, to: InboxId, reply: Reply) -> Self {
        self.answers.push(Answer { to, reply });
        self
    }
}

impl From<Vec<Event>> for Batch {
    fn from(events: Vec<Event>) -> Self {
        Self { events, ..Self::default() }
    }
}

impl From<Event> for Batch {
    fn from(event: Event) -> Self {
        Self::from(vec![event])
    }
}
