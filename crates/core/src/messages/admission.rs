//! Why a run accepts no further child or message, or lets an agent stop no other.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, TaskId};
use crate::messages::message::{MAILBOX_CAPACITY, MAX_BODY_BYTES, MAX_DEADLINE_SECONDS};
use crate::task::TaskState;

/// Why a child was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
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
    /// The program has asked for a child of that id before, and for another one.
    #[error(
        "a child of that id exists with another specification: the first is {first:?}, this one \
         {second:?}; give this one an id of its own"
    )]
    OtherSpec {
        /// The task of the child that exists.
        first: String,
        /// The task that is asked for now.
        second: String,
    },
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
    /// No agent of the run may have children.
    #[error(
        "no agent of this run may spawn others: `max_children_per_agent` is 0, which \
         `DISABLE_SPAWNING` sets as well; do the work yourself"
    )]
    NoSpawning,
    /// The parent has the maximum number of children that have not ended.
    #[error(
        "agent {parent} has {limit} children that have not ended, the maximum set by \
         `max_children_per_agent`; wait for one of them (`wait_for_agents`), then spawn again"
    )]
    TooMany {
        /// The agent.
        parent: AgentId,
        /// The maximum.
        limit: usize,
    },
    /// The agents of the run have spawned the maximum number of others.
    #[error(
        "the agents of this run have spawned {limit} others, the maximum of a run; do the rest \
         yourself"
    )]
    TooManyInRun {
        /// The maximum.
        limit: usize,
    },
    /// The child would exceed the maximum depth.
    #[error("a child of agent {parent} would exceed `max_depth` {limit}; do the work yourself")]
    TooDeep {
        /// The agent.
        parent: AgentId,
        /// The maximum.
        limit: u32,
    },
    /// Some of the tools that it is to have are not within its reach.
    #[error(
        "the child cannot have {}, since its role and its parent do not both have it; it can have: \
         {}",
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
        "a child of the role '{role}' has to change files, and could not with the tools that its \
         parent can pass on: {}; choose a role that only reports, or do the work yourself",
        names(available)
    )]
    CannotChangeFiles {
        /// The role.
        role: String,
        /// The tools that it could have.
        available: Vec<String>,
    },
    /// The budget that it is to have pays for no request.
    #[error(
        "a budget of {tokens} tokens is too small: the first request of such an agent reserves up \
         to about {least}; give it several times as much"
    )]
    SmallBudget {
        /// The budget.
        tokens: u64,
        /// The smallest one with which an agent can work.
        least: u64,
    },
    /// The budgets above it have nothing left for a child.
    #[error(
        "agent {parent} has only {left} tokens left for its children, and a child needs at least \
         {least}"
    )]
    NoBudget {
        /// The agent.
        parent: AgentId,
        /// The tokens that are left.
        left: u64,
        /// The smallest budget with which an agent can work.
        least: u64,
    },
}

fn names(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// Why an agent may not stop another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum StopRefused {
    /// There is no such agent.
    #[error(
        "there is no agent '{agent}' in this run; those below you are: {}",
        names(own)
    )]
    Unknown {
        /// The named agent.
        agent: AgentId,
        /// Those that it may stop.
        own: Vec<AgentId>,
    },
    /// The named agent is none of its descendants.
    #[error(
        "an agent can end only those below it, and '{agent}' is not: {}",
        names(own)
    )]
    NotBelow {
        /// The named agent.
        agent: AgentId,
        /// Those that it may stop.
        own: Vec<AgentId>,
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
    #[error("agent '{to}' is {} and reads no more messages", state.in_words())]
    ReadsNoMore {
        /// The named agent.
        to: AgentId,
        /// Its task's state.
        state: TaskState,
    },
    /// The agent's work is being merged, after which it ends or continues.
    #[error(
        "agent '{to}' reads no messages while its work is being merged; try again when that is done"
    )]
    BeingMerged {
        /// The named agent.
        to: AgentId,
    },
    /// The message is empty.
    #[error("the message is empty")]
    Empty,
    /// The mailbox is full.
    #[error(
        "the mailbox of agent '{to}' is full ({MAILBOX_CAPACITY} messages); wait until it has read \
         some"
    )]
    MailboxFull {
        /// The named agent.
        to: AgentId,
    },
    /// The text is too long.
    #[error(
        "the message has {bytes} bytes, at most {MAX_BODY_BYTES} are allowed; put the text into a \
         file and name the file"
    )]
    TooLong {
        /// Its size.
        bytes: usize,
    },
    /// The deadline is too far away.
    #[error(
        "a deadline {seconds} s from now is too far away, at most {MAX_DEADLINE_SECONDS} s (a \
         year) are allowed"
    )]
    DeadlineTooFar {
        /// The time until then.
        seconds: u64,
    },
    /// The user has not answered the agent's earlier messages.
    #[error(
        "the user has not answered your last {MAILBOX_CAPACITY} messages; wait for an answer \
         before you send more"
    )]
    UserHasMany,
    /// The sender is the receiver.
    #[error("a message to yourself is read by nobody else; keep it in your notes")]
    Itself,
    /// The sender's role may not address the receiver.
    #[error("your role may not send messages to '{to}', only to: {channels}")]
    NotInChannels {
        /// The named receiver.
        to: String,
        /// What the role may address.
        channels: String,
    },
    /// The address stands for nobody.
    #[error("there is nobody at the address '{address}'")]
    NobodyThere {
        /// The address.
        address: String,
    },
    /// Nobody gets it, each for a reason of its own.
    #[error("{reasons}")]
    ByAll {
        /// The reasons.
        reasons: String,
    },
    /// There is no such question that could be answered.
    #[error("'{to}' has no such open question; its open questions: \
             {}", if open.is_empty() { "none" } else { open })]
    NoSuchQuestion {
        /// The named receiver.
        to: String,
        /// The numbers of its open questions.
        open: String,
    },
    /// Another kind of message names a question.
    #[error("only an answer names a question")]
    NoAnswer,
    /// Another kind of message waits.
    #[error("only a question waits for an answer")]
    NoQuestion,
    /// A question to several waits.
    #[error("a question that waits for its answer goes to one receiver, not to {agents}")]
    OneAtATime {
        /// The number of receivers.
        agents: usize,
    },
    /// The one asked begins only after the asker has ended.
    #[error(
        "agent '{to}' cannot read it before this agent ends; ask without waiting, or decide \
         yourself"
    )]
    NeverReads {
        /// The one asked.
        to: AgentId,
    },
    /// Only an ancestor or the user may ask an agent to finish.
    #[error("only a parent or the user may ask '{to}' to finish")]
    MayNotShutDown {
        /// The named receiver.
        to: String,
    },
}
