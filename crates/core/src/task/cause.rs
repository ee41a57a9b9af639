//! Why a task's work was returned, and why a task failed.
//!
//! Each is a closed enum, so that every reader must handle every case. The details are in the
//! event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why work is returned to its agent, or left to the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReturnCause {
    /// Its branch conflicts with the integration branch; also the value read from journals older
    /// than this field.
    #[default]
    Conflict,
    /// The task's own check failed.
    TaskCheck,
    /// The run's check failed on the merged tree.
    RunCheck,
    /// Most of its files are gone, and no recorded call deleted them: the agent has to confirm
    /// that.
    Deletions,
    /// Git cannot store the content of its worktree.
    Unstorable,
    /// A task that reviews it asks for changes.
    ChangesRequested,
    /// Its report claims what the facts do not bear out.
    Claims,
    /// It has to end with a verdict, and has ended without one.
    NoVerdict,
    /// It has to end with a plan that can be run, and has ended with something else.
    InvalidPlan,
    /// It has to end with an answer of a given form, and has ended with something else.
    InvalidAnswer,
    /// A hook has refused it.
    Hook,
    /// There is new work for it to review.
    NewWork,
    /// Its agent had finished before the agents that it spawned; these have ended now.
    ChildrenEnded,
    /// The user rejected it or commented on it: a new attempt.
    Rejected,
    /// The user retried a finished task: a new attempt.
    Retried,
    /// The user took a part of it, which is merged; the rest is returned: a new attempt.
    Rest,
}

impl ReturnCause {
    /// Reports whether there is a fault in the work, which counts as a round.
    pub fn is_fault(self) -> bool {
        !matches!(self, ReturnCause::ChildrenEnded)
    }

    /// Reports whether this return starts a new attempt, with fresh rounds and turns.
    pub fn is_new_attempt(self) -> bool {
        matches!(
            self,
            ReturnCause::Rejected | ReturnCause::Retried | ReturnCause::Rest
        )
    }
}

/// Why a task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The turns of the attempt are used up.
    Turns,
    /// A token budget is used up.
    Budget,
    /// The cost limit of the run is used up.
    Cost,
    /// The parts that cannot be left out, such as the task and the tools, do not fit into the
    /// context.
    Context,
    /// A time limit is used up.
    Timeout,
    /// A permission was denied in a run without a user to ask.
    Denied,
    /// The task's or the run's check kept failing.
    Check,
    /// The agent's report kept claiming what the facts do not bear out.
    Claims,
    /// The agent changed nothing although its role delivers changes.
    NoChanges,
    /// A task that reviews it kept asking for changes.
    ChangesRequested,
    /// The agent ended without the verdict that its role requires.
    NoVerdict,
    /// The agent kept ending without a plan that can be run, which its role requires.
    InvalidPlan,
    /// The agent kept ending without an answer of the form that its task requires.
    InvalidAnswer,
    /// A hook kept refusing the agent's work.
    Hook,
    /// The agent ended with empty replies.
    Silent,
    /// The agent repeated itself.
    Looping,
    /// The model refused to answer.
    Refused,
    /// The model rejected the request.
    Model,
    /// The model's endpoint did not answer for too long; in older journals, it may also have
    /// rejected the key or the account.
    Endpoint,
    /// A `run:` command failed.
    Command,
    /// The worktree's setup failed.
    Setup,
    /// The worktree could not be created or stored.
    Worktree,
    /// The worker panicked.
    Panicked,
    /// Any other internal error.
    Internal,
}

impl std::fmt::Display for FailureCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl FailureCause {
    /// Returns what is used up, in a word; `None` if the task failed for another cause.
    pub fn used_up(self) -> Option<&'static str> {
        match self {
            Self::Turns => Some("turns"),
            Self::Budget => Some("tokens"),
            Self::Cost => Some("money"),
            Self::Timeout => Some("time"),
            _ => None,
        }
    }

    /// Reports whether the agent could go on if it had more of something, and reports what it has
    /// instead.
    pub fn asks_for_report(self) -> bool {
        self.used_up().is_some()
    }
}
