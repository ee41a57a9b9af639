//! Why a run accepts no further child and no further message, in the words that whoever asked is told.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, TaskId};
use crate::message::{MAILBOX_CAPACITY, MAX_BODY_BYTES};
use crate::task_state::TaskState;

/// Why there may not be one more child.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnRefused {
    /// The id cannot be one.
    #[error("invalid id '{id}': {reason}")]
    BadId {
        /// The id.
        id: String,
        /// Why not.
        reason: String,
    },
    /// Another task of the run has the id.
    #[error("a task with that id exists already")]
    Taken,
    /// The parent does not exist.
    #[error("its parent, agent {parent}, does not exist")]
    UnknownParent {
        /// The agent.
        parent: AgentId,
    },
    /// It has as many as an agent may have.
    #[error("agent {parent} has {limit} children already, the maximum set by `max_children_per_agent`")]
    TooMany {
        /// The agent.
        parent: AgentId,
        /// The most.
        limit: usize,
    },
    /// The child would stand too deep.
    #[error("a child of agent {parent} would exceed `max_depth` {limit}")]
    TooDeep {
        /// The agent.
        parent: AgentId,
        /// The deepest.
        limit: u32,
    },
}

/// Why a message was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum MessageRefused {
    /// There is no such agent.
    #[error("there is no agent '{to}' in this run; the agents are: {known}")]
    UnknownRecipient {
        /// Who was named.
        to: String,
        /// Who there is.
        known: String,
    },
    /// A command carries the task out, and a command reads nothing.
    #[error("{to} is a command and has no agent to read messages")]
    NoAgent {
        /// What was named.
        to: TaskId,
    },
    /// The agent has handed its work over, or has ended.
    #[error("agent '{to}' is {} and reads no more messages", state.as_str())]
    ReadsNoMore {
        /// Who was named.
        to: AgentId,
        /// Where it stands.
        state: TaskState,
    },
    /// The agent's work is being merged, which either ends its part or sends the work back to it.
    #[error("agent '{to}' reads no messages while its work is being merged; try again when that is done")]
    BeingMerged {
        /// Who was named.
        to: AgentId,
    },
    /// There is nothing to read.
    #[error("the message is empty")]
    Empty,
    /// The mailbox is full.
    #[error("the mailbox of agent '{to}' is full ({MAILBOX_CAPACITY} messages); wait until it has read some")]
    MailboxFull {
        /// Who was named.
        to: AgentId,
    },
    /// The text is too long.
    #[error(
        "the message has {bytes} bytes, at most {MAX_BODY_BYTES} are allowed; put the text into a file and name the file"
    )]
    TooLong {
        /// Its size.
        bytes: usize,
    },
}
