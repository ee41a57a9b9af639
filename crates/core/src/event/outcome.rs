//! The words with which facts say how something ended: a call, a task's work, a run, and which check decided.
//!
//! Each is a closed set, so that whoever folds the facts answers for every way. How it came about stands in the fact.

use serde::{Deserialize, Serialize};

/// Whose check it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerifyScope {
    /// The task's own check, in its worktree.
    Task,
    /// The run's check, on the merged tree.
    Run,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It did what it was asked.
    Ok,
    /// It failed; the result says how.
    Failed,
    /// It was not allowed to run.
    Denied,
    /// It reached its time.
    TimedOut,
    /// Nobody saw its end.
    Interrupted,
}

/// The class of a call's failure, by what is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The model can repair it.
    Retry,
    /// The policy or the sandbox refused.
    Denied,
    /// A file tool met an error of the file system other than "not found".
    File,
    /// A limit of time was reached.
    Timeout,
    /// Connection, name resolution, or the other side's failure.
    Network,
    /// Any other failure of the tool itself, panics included.
    Execution,
    /// The call was stopped; whether it had an effect is not known.
    Interrupted,
}

/// Why work goes back to its author, or is left to a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReturnCause {
    /// Its branch conflicts with the integration branch; also what a journal says that was written before facts told
    /// the cause.
    #[default]
    Conflict,
    /// The task's own check is red.
    TaskCheck,
    /// The run's check is red on the merged tree.
    RunCheck,
    /// Most of its files are gone, and no recorded call deleted them: the author has to confirm that.
    Deletions,
    /// Git cannot store what its worktree holds.
    Unstorable,
    /// A person rejected it or commented on it: a new attempt.
    Rejected,
    /// A person asked for another try of a task that had ended: a new attempt.
    Retried,
}

impl ReturnCause {
    /// Reports whether this return begins a new attempt, with fresh rounds and turns.
    pub fn is_new_attempt(self) -> bool {
        matches!(self, ReturnCause::Rejected | ReturnCause::Retried)
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
    /// What cannot be left out, such as the task and the tools, does not fit into the context.
    Context,
    /// The time is used up.
    Timeout,
    /// A permission was denied and nobody could be asked.
    Denied,
    /// The task's or the run's check stayed red.
    Check,
    /// The agent changed nothing although its role delivers changes.
    NoChanges,
    /// The agent ended without a word.
    Silent,
    /// The agent repeated itself.
    Looping,
    /// The model would not answer.
    Refused,
    /// The model could not be reached or did not understand.
    Model,
    /// A `run:` command failed.
    Command,
    /// The worktree's setup failed.
    Setup,
    /// The worktree could not be made or stored.
    Worktree,
    /// The worker panicked.
    Panicked,
    /// Anything else that is our fault.
    Internal,
}

impl std::fmt::Display for FailureCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// How a run stands or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A coordinator works on it, or should.
    Running,
    /// Every task is merged or done.
    Succeeded,
    /// A task failed.
    Failed,
    /// A conflict, a review or a parked call waits for a person.
    NeedsHuman,
    /// A task ended by turns, tokens, time or budget.
    Limit,
    /// A task failed because a permission was denied and nobody could be asked.
    Denied,
    /// It was stopped.
    Interrupted,
}
