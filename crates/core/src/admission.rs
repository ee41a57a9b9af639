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
    /// The parent has ended, or is being stopped.
    #[error("its parent, agent {parent}, has ended")]
    ParentEnded {
        /// The agent.
        parent: AgentId,
    },
    /// The run has ended.
    #[error("the run has ended")]
    RunEnded,
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
    /// Some of the tools that it is to have are not within its reach.
    #[error(
        "the child cannot have {}, since its role and its parent do not both have it; it can have: {}",
        names(unavailable),
        names(available)
    )]
    NoSuchTools {
        /// Those that it cannot have.
        unavailable: Vec<String>,
        /// Those that it can have.
        available: Vec<String>,
    },
    /// It could change no file, although its role has to.
    #[error(
        "a child of the role '{role}' has to change files, and could not with the tools that its parent can pass on: {}; \
        choose a role that only reports, or do the work yourself",
        names(available)
    )]
    CannotChangeFiles {
        /// The role.
        role: String,
        /// The tools that it could have.
        available: Vec<String>,
    },
    /// The budgets above it have nothing left for a child.
    #[error("agent {parent} has only {left} tokens left for its children, and a child needs at least {least}")]
    NoBudget {
        /// The agent.
        parent: AgentId,
        /// The tokens that are left.
        left: u64,
        /// The smallest budget with which an agent can work.
        least: u64,
    },
}

fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
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
