//! What a task waits for while no worker works on it, and why an agent may not wait.
//!
//! A call that waits ends its worker: the wait is a recorded state with an object, so it holds no
//! slot and no tool, and outlives the process. [`crate::RunState`] decides when it is over; the
//! call is made again then, and answered from the state.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, CallHash, CallOfTurn, TaskId};
use crate::messages::{MAX_DEADLINE_SECONDS, Receiver};

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// The decision of a person, or of a program's approver, about this call.
    Person {
        /// The call.
        call: CallHash,
    },
    /// The end of other agents' work, or a message for the waiting agent.
    Agents {
        /// The agents.
        ids: Vec<TaskId>,
        /// When it is over at the latest, in milliseconds worked on the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_ms: Option<u64>,
    },
    /// Another key, or credit, at an endpoint that rejects the agent's requests; over once the run
    /// is resumed.
    Endpoint {
        /// The endpoint's base URL.
        endpoint: String,
        /// Why the request failed.
        error: String,
    },
    /// The answer to a question, or any other message for the waiting agent; the run sends one if
    /// there can be none.
    Message {
        /// The one who was asked.
        to: Receiver,
        /// The number of the question.
        question: u64,
        /// When it is over at the latest, in milliseconds worked on the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_ms: Option<u64>,
    },
    /// The end of the agents that it spawned, before its own work is handed over, or a message for
    /// it.
    Children,
}

impl Wait {
    /// Reports whether a person has to act.
    pub fn is_for_person(&self) -> bool {
        matches!(
            self,
            Self::Person { .. }
                | Self::Endpoint { .. }
                | Self::Message {
                    to: Receiver::User,
                    ..
                }
        )
    }

    /// Reports whether events of its own begin it and end it: a decision about a call, or a
    /// resumption.
    pub(crate) fn has_own_end(&self) -> bool {
        matches!(self, Self::Person { .. } | Self::Endpoint { .. })
    }

    /// Returns when it is over at the latest, in milliseconds worked on the run.
    pub fn until_ms(&self) -> Option<u64> {
        match self {
            Self::Person { .. } | Self::Endpoint { .. } | Self::Children => None,
            Self::Agents { until_ms, .. } | Self::Message { until_ms, .. } => *until_ms,
        }
    }
}

/// An endpoint that rejects the key or the account, with the tasks that wait for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RejectingEndpoint {
    /// The base URL.
    pub endpoint: String,
    /// Why the request of the first of these tasks failed.
    pub error: String,
    /// The tasks.
    pub tasks: Vec<TaskId>,
}

/// A wait for other agents or a message that is over, although its call has not been answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedWait {
    /// The call that waited.
    pub of: CallOfTurn,
    /// Whether its deadline has passed.
    pub timed_out: bool,
}

/// Why an agent may not wait for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum WaitRefused {
    /// No agent is named.
    #[error("name at least one agent")]
    NoAgents,
    /// The time is too long.
    #[error(
        "{seconds} s are too long to wait, at most {MAX_DEADLINE_SECONDS} s (a year) are allowed"
    )]
    TooLong {
        /// How long the agent would wait at most.
        seconds: u64,
    },
    /// There is no such agent.
    #[error("there is no agent '{agent}' in this run; the agents are: {known}")]
    Unknown {
        /// The named agent.
        agent: AgentId,
        /// The agents of the run.
        known: String,
    },
    /// The agent names itself.
    #[error("an agent cannot wait for itself")]
    Itself,
    /// The named agent is an ancestor of this one, and ends after it.
    #[error("agent '{agent}' is an ancestor of this one, so it ends after it")]
    Ancestor {
        /// The ancestor.
        agent: AgentId,
    },
    /// An agent that has to go on first waits for this one's answer.
    #[error(
        "agent '{asker}' waits for your answer to its question {question}: answer it first \
         (`send_message_to_agent`, `reply_to` {question}), then wait"
    )]
    Asked {
        /// The agent that asks.
        asker: AgentId,
        /// The number of its question.
        question: u64,
    },
    /// The named agents cannot end before this one does.
    #[error("this would never end: {} cannot end before this agent goes on; finish your own work \
             instead", names(.0))]
    Cycle(Vec<AgentId>),
}

fn names(agents: &[AgentId]) -> String {
    agents
        .iter()
        .map(AgentId::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
