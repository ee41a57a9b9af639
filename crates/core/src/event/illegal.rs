//! Why an event is not valid in the current state. Neither a model nor a person can cause this: it
//! means a defect, or a journal that something else has written.

use crate::ids::{AgentId, CallHash, Oid, RunId, TaskId};
use crate::messages::MessageRefused;
use crate::task::TaskState;
use crate::task::schedule::ScheduleError;

/// An event that is not valid in the run's state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("run {run}: fact {seq} ({kind}) is impossible: {reason}")]
pub struct IllegalEvent {
    /// The run.
    pub run: RunId,
    /// The event's number.
    pub seq: u64,
    /// The event's type.
    pub kind: String,
    /// Why it is not valid.
    pub reason: Illegal,
}

/// Why an event is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// The first event of a run is another one.
    #[error("a run begins with run.started")]
    NotStarted,
    /// Only the first event starts a run.
    #[error("the run has already started")]
    AlreadyStarted,
    /// An event is missing before this one, or this one is repeated.
    #[error("fact {newest} is the newest")]
    OutOfSequence {
        /// The number of the newest event.
        newest: u64,
    },
    /// The new task's dependencies form a cycle, or its id exists.
    #[error("it would {0}")]
    Schedule(#[from] ScheduleError),
    /// No such task was added.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// An event of a task is not valid in the task's state.
    #[error("task {task}: {reason}")]
    OfTask {
        /// The task.
        task: TaskId,
        /// Why the event is not valid.
        reason: Box<Illegal>,
    },
    /// The task is in another state than the event requires.
    #[error("it is {}", .0.as_str())]
    State(TaskState),
    /// The task has already ended.
    #[error("it is {} already", .0.as_str())]
    Ended(TaskState),
    /// A task without work has none that can be returned.
    #[error("work was returned of a task that is {}", .0.as_str())]
    NothingToReturn(TaskState),
    /// The agent has not committed anything that could be checked, reviewed or merged.
    #[error("it has handed no work over")]
    NoWork,
    /// The request refers to another one than the agent's newest.
    #[error("the agent's request before it is \
             {}", .newest.map_or("none".to_owned(), |seq| format!("fact {seq}")))]
    NotTheRequestBefore {
        /// The number of the agent's newest request.
        newest: Option<u64>,
    },
    /// The request keeps messages that the one before does not have.
    #[error("the agent's request before it has only {messages} messages")]
    NoSuchMessages {
        /// The number of messages of the request before.
        messages: usize,
    },
    /// The agent has made its last request, or one is due although none can be.
    #[error("its agent makes one last request in an attempt")]
    Reported,
    /// The agent has to read its messages before it can hand its work over.
    #[error("a message waits for its agent, which has to read it first")]
    UnreadMessage,
    /// The commit to merge is not the task's newest work.
    #[error("its commit {0} is not up for merging")]
    NotACandidate(Oid),
    /// Another merge is in progress.
    #[error("the merge of {0} is not over")]
    MergeOpen(TaskId),
    /// The task's merge is not in progress.
    #[error("no merge of {0} is in progress")]
    NoMerge(TaskId),
    /// A landing is in progress.
    #[error("a landing has already begun")]
    LandingOpen,
    /// No landing is in progress.
    #[error("no landing has begun")]
    NoLanding,
    /// The integration branch is not at this commit.
    #[error("the result is not {0}")]
    OtherResult(Oid),
    /// There is no landing to undo.
    #[error("nothing has landed")]
    NothingLanded,
    /// The sender's messages are not numbered one after the other.
    #[error("the sender's next message is number {expected}, not {found}")]
    MessageNumber {
        /// The number that follows the sender's newest one.
        expected: u64,
        /// The event's number.
        found: u64,
    },
    /// The message may not be sent.
    #[error(transparent)]
    Message(#[from] MessageRefused),
    /// The delivered message was not sent, or has been delivered before.
    #[error("no message {sequence} waits for {to}")]
    NoMessage {
        /// The recipient.
        to: AgentId,
        /// The message's number.
        sequence: u64,
    },
    /// The decided call is not waiting for a decision.
    #[error("no parked call {0}")]
    NoCall(CallHash),
    /// A call is decided once.
    #[error("call {0} is decided already")]
    Decided(CallHash),
}

impl Illegal {
    /// Names the task whose event is not valid.
    pub(crate) fn for_task(self, task: TaskId) -> Self {
        Self::OfTask {
            task,
            reason: Box::new(self),
        }
    }
}
