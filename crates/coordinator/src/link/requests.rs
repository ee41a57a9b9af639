//! The requests of a worker to the coordinator, each with its reply. Everything here is data, so a
//! worker can be anywhere; all of it is about the worker's own task, which no request names.

use std::collections::BTreeMap;
use std::time::Duration;

use orchestrate_core::agent::budget::{Amount, Reservation};
use orchestrate_core::agent::model_search::SearchRequested;
use orchestrate_core::checks::flaky::AfterRedCheck;
use orchestrate_core::event::{Event, Recorded};
use orchestrate_core::messages::{Envelope, MessageRefused, Outgoing, SpawnRefused, StopRefused};
use orchestrate_core::projections::HandBacks;
use orchestrate_core::record::ChildrenSettled;
use orchestrate_core::run::child::KeptWork;
use orchestrate_core::run::{ApprovalDecision, AskedWait, Receipt, RunBranches, WorkSpan};
use orchestrate_core::secrecy::taint::TaintGuard;
use orchestrate_core::task::FailureCause;
use orchestrate_core::{
    AgentHandle, AgentId, AgentInfo, AgentStatus, BlobId, CallHash, CallOfTurn, ReachedLimit,
    RequestHash, RequestParts, ReviewVerdict, TaskRecord, VerdictRefused, WaitRefused,
};
use orchestrate_tools::EndedAgentsWait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::link::blobs::{Blobs, Bytes};
use crate::ruling::Ruling;
use crate::run::new_child::NewChild;
use crate::run::program::live::LiveItem;
use crate::texts::skills::SkillRefused;

/// A request with the type of its reply.
pub(crate) trait Request: Into<LinkRequest> {
    /// The type of the reply.
    type Reply: Serialize + DeserializeOwned;

    /// Returns the reply, or `None` if it is that to another request.
    fn reply(reply: LinkReply) -> Option<Self::Reply>;
}

/// Declares each request as a struct with the type of its reply, and the enums of all requests and
/// of all replies.
macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($(#[$about:meta])* $field:ident: $type:ty),* } -> $reply:ty;
    )+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
            pub(crate) struct $name {
                $($(#[$about])* pub(crate) $field: $type),*
            }

            impl From<$name> for LinkRequest {
                fn from(request: $name) -> Self {
                    Self::$name(Box::new(request))
                }
            }

            impl Request for $name {
                type Reply = $reply;

                fn reply(reply: LinkReply) -> Option<$reply> {
                    match reply {
                        LinkReply::$name(reply) => Some(*reply),
                        _ => None,
                    }
                }
            }
        )+

        /// A request of a worker.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub(crate) enum LinkRequest {
            $($name(Box<$name>)),+
        }

        /// The reply to the request of the same name.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub(crate) enum LinkReply {
            $($name(Box<$reply>)),+
        }
    };
}

// What the worker reads.
requests! {
    /// Reads the task's record.
    ReadTask {} -> TaskRecord;

    /// Reads the task's events, from the first.
    ReadHistory {} -> Vec<Recorded>;

    /// Returns the map of the repository for an agent that has not begun, if it is ready in time.
    TakeMap {} -> Option<String>;

    /// Reads blobs.
    ReadBlobs { ids: Vec<BlobId> } -> Blobs;

    /// Reads the decisions on the agent's calls.
    ReadDecisions {} -> BTreeMap<CallHash, ApprovalDecision>;

    /// Reads what could make the agent give private data away.
    ReadTaint {} -> TaintGuard;

    /// Reads the text of the plan, or of a section of it; an error says why there is none.
    ReadPlan { section: Option<String> } -> Result<String, String>;

    /// Reads a skill's body, or a file below its folder: of the project's skills, as the base
    /// commit has it.
    ReadSkill { name: String, file: Option<String> } -> Ruling<String, SkillRefused>;

    /// Reads between which commits the task's work lies.
    ReadWorkSpan {} -> WorkSpan;

    /// Reads the branches of the run.
    ReadBranches {} -> RunBranches;

    /// Reads what these agents hand back, unless one does not exist.
    ReadHandBacks { agents: Vec<AgentId> } -> Ruling<HandBacks, WaitRefused>;

    /// Decides what follows from the task's own check that has failed.
    JudgeRedCheck {} -> AfterRedCheck;

    /// Returns the text of the plan that an answer proposes, or its errors, one a line, if it
    /// cannot be run.
    JudgePlan { answer: String } -> Result<String, String>;

    // What it records.

    /// Records facts; answered when they are durable.
    Record { facts: Facts } -> ();

    /// Records the start of a call, after a slot in the journal was reserved for its end, which
    /// must be recordable in any case.
    StartCall { started: Event } -> CallSlot;

    /// Records the end of a call; carried out even if nobody waits for the reply.
    EndCall { slot: CallSlot, end: Facts } -> ();

    // What it spends.

    /// Reports which budgets limit the task.
    ReadLimits {} -> LimitedBudgets;

    /// Records that a request is about to be sent to a model, if every budget covers it, and
    /// returns the number of that event; otherwise records that it waits, or returns why it is
    /// refused.
    Reserve {
        /// The agent's request number.
        turn: u32,
        /// `provider/model`.
        model: String,
        request: RequestHash,
        parts: RequestParts,
        /// The parts that are not stored yet.
        new: Vec<Bytes>,
        /// The counted input plus the maximum reply, and what they can cost.
        amount: Amount
    } -> Ruling<u64, Reservation>;

    /// Records that a search by the model's endpoint is about to be asked for, if every budget
    /// covers it; otherwise records that it waits, or returns why it is refused.
    ReserveSearch { search: SearchRequested } -> Ruling<(), Reservation>;

    /// Waits until a request that needs this much no longer has to wait.
    AwaitBudget { amount: Amount } -> ();

    /// Tells the followers of the run of something that is not recorded; carried out even if nobody
    /// waits for the reply.
    TellLive { item: LiveItem } -> ();

    // Its messages.

    /// Records that the agent's undelivered messages are delivered, and returns them, oldest first;
    /// those that have expired are left out.
    DeliverMessages {} -> Vec<Envelope>;

    /// Returns why a message of the agent's would be refused; nothing is recorded.
    ForeseeMessage { message: Outgoing } -> Ruling<(), MessageRefused>;

    /// Sends a message of the agent's call and returns who gets it; `None` if the call waits for
    /// the answer.
    SendMessage { call: CallOfTurn, message: Outgoing } -> Ruling<Option<Receipt>, MessageRefused>;

    // Other agents.

    /// Returns the child that the agent's call has spawned already, `None` if it may spawn one, or
    /// why it may not.
    ForeseeChild { child: NewChild } -> Ruling<Option<AgentHandle>, SpawnRefused>;

    /// Spawns a child of the agent, once for each call.
    SpawnChild { child: NewChild } -> Ruling<AgentHandle, SpawnRefused>;

    /// Returns why the agent may not stop another one; nothing is recorded.
    ForeseeTermination { agent: AgentId } -> Ruling<(), StopRefused>;

    /// Records that one of the agent's descendants is to be stopped, and that the call waits for
    /// that, and returns `None`; if nothing is left to stop, or the wait is over, returns what is
    /// left of them.
    TerminateAgent { call: CallOfTurn, agent: AgentId }
        -> Ruling<Option<Vec<KeptWork>>, StopRefused>;

    /// Returns what is known of an agent of the run, or why nothing is.
    ReadAgentStatus { agent: AgentId } -> Result<AgentStatus, String>;

    /// Lists the agents of the run that have not ended.
    ListActiveAgents {} -> Vec<AgentInfo>;

    /// Returns why the agent may not wait for others; nothing is recorded.
    ForeseeWait { agents: Vec<AgentId>, timeout: Option<Duration> } -> Ruling<(), WaitRefused>;

    /// Records that a call waits for other agents, and returns `None`; if the wait is over, returns
    /// how it has ended.
    WaitForAgents { wait: AskedWait } -> Ruling<Option<EndedAgentsWait>, WaitRefused>;

    /// Reports whether the work of other agents is merged into the agent's branch if this call
    /// waits.
    TakesWorkAt { call: CallOfTurn } -> bool;

    // Its end.

    /// Waits until the attempt's time is used up; for ever if it has no limit.
    AwaitTimeout {} -> ();

    /// Records that the agent has reached a limit, so that its last request is due; returns `None`
    /// if none is.
    ReachLimit { cause: FailureCause, message: String } -> Option<ReachedLimit>;

    /// Records the verdict of a task that reviews others.
    GiveVerdict { verdict: ReviewVerdict } -> Ruling<(), VerdictRefused>;

    /// Ends the review with the verdict that was given, unless the agent has to read a message
    /// first; returns whether it was recorded.
    ConcludeReview { summary: String } -> bool;

    /// Lets the agent wait for those that it spawned, or be told what has become of them, before it
    /// hands its work over.
    SettleChildren {} -> ChildrenSettled;

    /// Records that the agent hands its work over, unless something has to come before; returns
    /// whether it was recorded.
    HandOver { fact: Event } -> bool;

    /// Fails the task, unless its work has been handed over. The worker has stored its worktree.
    Fail { failure: Failure } -> ();
}

/// Events, and the bytes that they name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) events: Vec<Event>,
    pub(crate) blobs: Vec<Bytes>,
}

impl Facts {
    /// Returns the event that names these bytes.
    pub(crate) fn naming(bytes: Vec<u8>, event: impl FnOnce(BlobId) -> Event) -> Self {
        let event = event(BlobId::from_content(&bytes));
        Self {
            events: vec![event],
            blobs: vec![bytes.into()],
        }
    }
}

impl From<Vec<Event>> for Facts {
    fn from(events: Vec<Event>) -> Self {
        Self {
            events,
            blobs: Vec::new(),
        }
    }
}

/// The number of a slot in the journal, which is reserved for the end of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct CallSlot(pub(crate) u64);

/// Which budgets limit a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LimitedBudgets {
    pub(crate) tokens: bool,
    pub(crate) money: bool,
}

/// How a task fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) cause: FailureCause,
    pub(crate) message: String,
    /// The last report of an agent that has reached a limit.
    pub(crate) report: Option<String>,
}
