//! The outcomes in events: of a call, of a task's work, of a run, and the scope of a check.
//!
//! Each is a closed enum, so that every reader must handle every case. The details are in the
//! event.

use serde::{Deserialize, Serialize};

/// The scope of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerifyScope {
    /// The task's own check, in its worktree.
    Task,
    /// The run's check, on the merged tree.
    Run,
    /// The run's check, on the branch that the task was to be merged into, without its work.
    Target,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It succeeded.
    Ok,
    /// It failed; the result contains the reason.
    Failed,
    /// It was not allowed to run.
    Denied,
    /// It exceeded its time limit.
    TimedOut,
    /// Its end was not observed.
    Interrupted,
}

/// The class of a call's failure, which decides how to handle it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The model can correct the call.
    Retry,
    /// The policy or the sandbox denied it.
    Denied,
    /// A file tool met an error of the file system other than "not found".
    File,
    /// A time limit was exceeded.
    Timeout,
    /// Connection, name resolution, or a failure of the remote side.
    Network,
    /// Any other failure of the tool itself, panics included.
    Execution,
    /// The call was stopped; its effects are unknown.
    Interrupted,
}

/// The resources that a call used.
///
/// Older journals contain only the last two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResourceUsage {
    /// The time from the call's start to its end, in milliseconds.
    pub wall_ms: u64,
    /// The processor time of the tool and of all processes of its commands, in milliseconds.
    pub cpu_ms: u64,
    /// The highest memory of the processes of one of its commands, in bytes; 0 if it ran none.
    pub peak_memory_bytes: u64,
    /// The highest number of processes of one of its commands that were seen alive at once; 0 if it
    /// ran none.
    pub processes: u64,
    /// Bytes of files that the tool read, and that its commands read from disks.
    pub read_bytes: u64,
    /// Bytes that the tool wrote to files, and its commands to disks.
    pub written_bytes: u64,
    /// Bytes of the tool's text before shaping.
    pub output_bytes: u64,
    /// Bytes of that text which those may have chosen who answered a tool for the web; absent if
    /// they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_bytes: Option<u64>,
}

impl ResourceUsage {
    /// Reports whether nothing was used.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the processor time of the call's commands in milliseconds. A tool computes little
    /// beside them, and what one computes that runs none is not a command's.
    pub fn command_cpu_ms(&self) -> u64 {
        if self.processes == 0 { 0 } else { self.cpu_ms }
    }
}

/// Why work is returned to its agent, or left to the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

/// What was done about a failure of a call, so that it might succeed nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Recovery {
    /// It ran out of time, and was run once more with a longer limit.
    RanLonger {
        /// The limit that was too short, in seconds.
        seconds: u64,
    },
    /// What it needs was not available, and it was run again after a wait.
    RanAgain,
    /// Another tool answered.
    Alternative {
        /// The canonical name of the other tool.
        tool: String,
        /// The rule that allowed its call.
        rule: String,
    },
}

/// What the cache had for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CacheLookup {
    /// The key of the call's result.
    pub key: String,
    /// Whether there was a result, which was replayed: nothing ran.
    pub hit: bool,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A coordinator works on it, or is supposed to.
    Running,
    /// Every task is merged or done.
    Succeeded,
    /// A task failed.
    Failed,
    /// A conflict, a review or a parked call waits for the user.
    NeedsHuman,
    /// A task ended because turns, tokens, time or budget were used up.
    Limit,
    /// A task failed because a permission was denied in a run without a user to ask.
    Denied,
    /// It was stopped.
    Interrupted,
}
