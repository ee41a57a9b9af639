//! A call that would wait for other agents, and what is decided about it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::ids::{CallOfTurn, TaskId};
use crate::messages::{Receiver, Sender};

/// A call that would wait for other agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedWait {
    /// The call.
    pub of: CallOfTurn,
    /// The agents that it names.
    pub ids: Vec<TaskId>,
    /// How long it waits at most.
    pub timeout: Option<Duration>,
}

/// What follows from a call that would wait.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitDecision {
    /// This event is recorded, and the call waits.
    Waits(Box<Event>),
    /// The wait is over, so the call is answered now.
    Over {
        /// Whether its deadline has passed.
        timed_out: bool,
    },
}

/// The deadline that passes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Of what.
    pub of: Expiring,
    /// The time until then, counted from the newest event.
    pub left: Duration,
}

/// What has a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expiring {
    /// A wait.
    Wait {
        /// The waiting task.
        task: TaskId,
        /// The milliseconds worked on the run at which it passes.
        until_ms: u64,
    },
    /// A message that has not been delivered, or a question that the user has not answered.
    Message {
        /// The sender.
        from: Sender,
        /// The receiver.
        to: Receiver,
        /// The sender's sequence number.
        sequence: u64,
    },
}
