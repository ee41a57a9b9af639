//! What a person can ask of a run from another process, and what the answer looks like.
//!
//! These are values alone: how they travel is in `inbox`, what they mean is for the coordinator to say. They are
//! stored as JSON, so a variant or field that has been released keeps its name, and a command that a later version
//! adds is passed over by an earlier one.

use std::fmt;

use orchestrate_core::ids::{AgentId, CallHash, Oid, TaskId};
use serde::{Deserialize, Serialize};

use crate::holder::Holder;

/// What a person asks of a run from another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Approves a task's work.
    Approve {
        /// The task.
        task: TaskId,
        /// The tree that the person saw, which the approval is bound to.
        tree: Oid,
    },
    /// Sends a task's work back with a comment.
    Reject {
        /// The task.
        task: TaskId,
        /// What the author is told.
        message: String,
        /// The place that the comment is about, as `file:line`.
        at: Option<String>,
    },
    /// Answers a parked tool call.
    Decide {
        /// The call.
        call: CallHash,
        /// Whether it may run.
        allowed: bool,
        /// What the agent is told.
        message: Option<String>,
    },
    /// Tries a task again that has ended without success.
    Retry {
        /// The task.
        task: TaskId,
        /// What the author is told.
        message: Option<String>,
    },
    /// Sends a message to an agent.
    Message {
        /// The agent.
        to: AgentId,
        /// The text.
        body: String,
    },
    /// Stops the run.
    Stop {
        /// How hard.
        level: StopLevel,
        /// The process that it is meant for; none for whichever works on the run.
        #[serde(default)]
        holder: Option<Holder>,
    },
    /// Stops one agent and those that it spawned: their calls in progress are cancelled and recorded.
    StopAgent {
        /// The agent.
        agent: AgentId,
        /// The process that it is meant for; none for whichever works on the run.
        holder: Option<Holder>,
    },
}

/// How hard a run is stopped; a level only rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopLevel {
    /// Running turns end, nothing new begins.
    Drain,
    /// Calls in progress are cancelled and recorded.
    Stop,
    /// Processes are killed at once.
    Kill,
}

/// The number of a command, unique within a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub(crate) i64);

impl fmt::Display for InboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A command that has arrived and is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number, for the answer.
    pub id: InboxId,
    /// When it was sent, in Unix milliseconds.
    pub sent_ms: u64,
    /// The command.
    pub command: Command,
}

/// What the sender of a command is told: what was done, or why it was not.
pub type Reply = Result<String, String>;

/// The answer to one command of the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The command.
    pub to: InboxId,
    /// What its sender is told.
    pub reply: Reply,
}
