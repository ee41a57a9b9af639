//! Messages between agents and the user, and why one is refused.
//!
//! Hides how an address stands for receivers, and how a body is shown so that it cannot pass for
//! another message.

mod admission;
mod message;

pub use admission::{MessageRefused, SpawnRefused, StopRefused};
pub use message::{
    Address, Body, Channel, Envelope, ExpiredMessage, MAILBOX_CAPACITY, MAX_BODY_BYTES,
    MAX_DEADLINE_SECONDS, MessageKind, Origin, Outgoing, Receiver, Sender, UnansweredQuestion,
};
