//! What happens when an agent hands its work over.

use crate::event::Event;

/// What happens when an agent hands its work over.
#[derive(Clone, Debug, PartialEq)]
pub enum HandOver {
    /// The work is handed over.
    Now,
    /// The agent reads its messages first.
    AfterMessages,
    /// The agent waits for those that it spawned; this event is recorded.
    AfterChildren(Box<Event>),
    /// The agent is told first what has become of those that it spawned.
    AfterNews,
}
