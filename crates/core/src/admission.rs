//! Why a run accepts no further child or message.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, TaskId};
use crate::message::{MAILBOX_CAPACITY, MAX_BODY_BYTES};
use crate::task_state::TaskState;

/// Why a child was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnRefused {
    /// The id is invalid.
    #[error("invalid id '{id}': {reason}")]
    BadId {
        /// The id.
        id: String,
        /// Why it is invalid.
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
    /// The parent has the maximum number of children.
    #[error("agent {parent} has {limit} children already, the maximum set by `max_children_per_agent`")]
    TooMany {
        /// The agent.
        parent: AgentId,
        /// The maximum.
        limit: usize,
    },
    /// The child would exceed the maximum depth.
    #[error("a child of agent {parent} would exceed `max_depth` {limit}")]
    TooDeep {
        /// The agent.
        parent: AgentId,
        /// The maximum.
        limit: u32,
    },
}

/// Why a message was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum MessageRefused {
    /// There is no such agent.
    #[error("there is no agent '{to}' in this run; the agents are: {known}")]
    UnknownRecipient {
        /// The named receiver.
        to: String,
        /// The agents of the run.
        known: String,
    },
    /// A command carries the task out and reads no messages.
    #[error("{to} is a command and has no agent to read messages")]
    NoAgent {
        /// The named task.
        to: TaskId,
    },
    /// The agent has handed its work over, or has ended.
    #[error("agent '{to}' is {} and reads no more messages", state.as_str())]
    ReadsNoMore {
        /// The named agent.
        to: AgentId,
        /// Its task's state.
        state: TaskState,
    },
    /// The agent's work is being merged, after which it ends or continues.
    #[error("agent '{to}' reads no messages while its work is being merged; try again when that is done")]
    BeingMerged {
        /// The named agent.
        to: AgentId,
    },
    /// The message is empty.
    #[error("the message is empty")]
    Empty,
    /// The mailbox is full.
    #[error("the mailbox of agent '{to}' is full ({MAILBOX_CAPACITY} messages); wait until it has read some")]
    MailboxFull {
        /// The named agent.
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
