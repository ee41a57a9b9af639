//! A batch: facts, the blobs that they name, and answers to requests, written in one transaction.

use orchestrate_core::event::Event;

use crate::blobs::Blob;
use crate::received::{Answer, InboxId, Reply};

/// Facts, blobs and answers that become durable together or not at all.
///
/// A request is carried out exactly once, also if the process dies in between, if its answer is in
/// the batch of the facts that it led to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The facts, in order.
    pub events: Vec<Event>,
    /// The blobs that the facts name; also stored if no fact names them.
    pub blobs: Vec<Blob>,
    /// Answers to requests, among them those that led to the facts.
    pub answers: Vec<Answer>,
}

impl Batch {
    /// Adds a blob.
    #[must_use]
    pub fn with_blob(mut self, blob: Blob) -> Self {
        self.blobs.push(blob);
        self
    }

    /// Adds the answer to a request.
    #[must_use]
    pub fn answering(mut self, to: InboxId, reply: Reply) -> Self {
        self.answers.push(Answer { to, reply });
        self
    }
}

impl From<Vec<Event>> for Batch {
    fn from(events: Vec<Event>) -> Self {
        Self {
            events,
            ..Self::default()
        }
    }
}

impl From<Event> for Batch {
    fn from(event: Event) -> Self {
        Self::from(vec![event])
    }
}
