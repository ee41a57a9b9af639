//! Requests on their way from one process to another, with their numbers and answers.
//!
//! These are values alone: how they travel is in `inbox`, what they mean is for core to say. A request that a later
//! version adds is passed over by an earlier one.

use std::fmt;

use orchestrate_core::request::{Request, RequestRefused};
use serde::{Deserialize, Serialize};

/// The number of a request, unique within a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub(crate) i64);

impl fmt::Display for InboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A request that has arrived and is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number, for the answer.
    pub id: InboxId,
    /// When it was sent, in Unix milliseconds.
    pub sent_ms: u64,
    /// The request.
    pub request: Request,
}

/// What the sender of a request is told: what was done, or why it was not.
pub type Reply = Result<String, RequestRefused>;

/// The answer to one request of the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request.
    pub to: InboxId,
    /// What its sender is told.
    pub reply: Reply,
}
