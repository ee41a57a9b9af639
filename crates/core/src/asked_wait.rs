//! A call that would wait for other agents, and what is decided about it.

use std::time::Duration;

use crate::event::Event;
use crate::ids::TaskId;
use crate::wait::CallOfTurn;

/// A call that would wait for other agents.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A wait whose deadline passes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The waiting task.
    pub task: TaskId,
    /// The milliseconds worked on the run at which it passes.
    pub until_ms: u64,
    /// The time until then, counted from the newest event.
    pub left: Duration,
}
