//! The outcomes in events: of a call and of a run, and the scope of a check.
//!
//! Each is a closed enum, so that every reader must handle every case. The details are in the
//! event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The scope of a check.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// What was done about a failure of a call, so that it might succeed nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheLookup {
    /// The key of the call's result.
    pub key: String,
    /// Whether there was a result, which was replayed: nothing ran.
    pub hit: bool,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
