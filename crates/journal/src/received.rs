//! Requests sent from one process to another, with their ids and answers.
//!
//! These are plain values: `inbox` transports them, and core defines what they mean. An older
//! version skips a request that a newer version has added.

use std::fmt;

use orchestrate_core::run::request::{Request, RequestRefused};
use serde::{Deserialize, Serialize};

/// The id of a request, unique within a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub(crate) i64);

impl fmt::Display for InboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A request that was received and is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its id, for the answer.
    pub id: InboxId,
    /// When it was sent, in Unix milliseconds.
    pub sent_ms: u64,
    /// The request.
    pub request: Request,
}

/// The answer that the sender of a request receives: what was done, or why it was refused.
pub type Reply = Result<String, RequestRefused>;

/// An answer, addressed to one request of the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The id of the request.
    pub to: InboxId,
    /// The answer that its sender receives.
    pub reply: Reply,
}
