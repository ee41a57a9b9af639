//! What calls ask of the agent's branch and of the other agents, as data: whether it could be done
//! is looked at before the user is asked about it.

use orchestrate_core::messages::Outgoing;
use orchestrate_core::{AgentId, CallId};
use serde::{Deserialize, Serialize};

/// An operation on the agent's own branch and its worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitOperation {
    /// Commits what is selected, or the worktree if nothing is.
    Commit {
        /// The message.
        message: String,
    },
    /// Selects files and folders for the next commit.
    Add {
        /// Their paths.
        files: Vec<String>,
    },
    /// Changes or lists the agent's own names for commits.
    Branch {
        /// What is done.
        action: BranchAction,
        /// The name, unless they are listed.
        name: Option<String>,
    },
    /// Brings files of a commit into the worktree.
    Checkout {
        /// The commit.
        revision: String,
        /// The paths of the files; none for all.
        paths: Vec<String>,
    },
    /// Uses the agent's own stack of set-aside changes.
    Stash {
        /// What is done.
        action: StashAction,
    },
    /// Merges a branch into the agent's own.
    Merge {
        /// The name of what is merged.
        branch: String,
    },
}

/// An operation on other agents of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentOperation {
    /// Sends a message.
    Send(Outgoing),
    /// Spawns a child.
    Spawn(ChildRequest),
    /// Stops a descendant, with all below it.
    Terminate(AgentId),
    /// Waits for agents.
    Wait {
        /// Their ids.
        agents: Vec<AgentId>,
        /// The longest wait, in seconds; `None` for as long as it takes.
        timeout_seconds: Option<u64>,
    },
    /// Compares what agents hand back.
    Aggregate(Vec<AgentId>),
}

/// An operation on the agent's own names for commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BranchAction {
    /// Names the last commit.
    Create,
    /// Lists the names.
    List,
    /// Removes a name; its commit stays.
    Delete,
}

/// An operation on the agent's own stack of set-aside changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StashAction {
    /// Sets the worktree's changes aside.
    Push,
    /// Applies the newest entry to the worktree and removes it from the stack.
    Pop,
    /// Lists the entries.
    List,
    /// Removes the newest entry from the stack; its commit stays until the run is cleaned.
    Drop,
}

/// A call that spawns a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildRequest {
    /// The call; `None` as long as it is only looked at.
    pub call: Option<CallId>,
    /// The assignment.
    pub task: String,
    /// The role; `None` for the run's default role.
    pub role: Option<String>,
    /// What the child is given beside its task: text, or JSON.
    pub context: Option<String>,
    /// The tools that it is to have, by any of their names; `None` for all that it may have.
    pub tools: Option<Vec<String>>,
    /// Its budget in tokens; `None` for that of its parent.
    pub budget: Option<u64>,
}
