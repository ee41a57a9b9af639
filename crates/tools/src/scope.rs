//! Everything that is given for one agent's calls: who asks, where, and within which bounds.
//!
//! A scope is plain data and handles, cheap to clone, made by the worker for one turn. Tools never see it
//! whole; they get a [`crate::ToolContext`] that was made from it together with a permit.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::policy::{Grant, Policy};
use orchestrate_core::{AgentId, CallHash, RunId};
use orchestrate_sandbox::{Cancel, Sandbox, View};

use crate::ledger::ReadLedger;
use crate::services::Services;

/// What one turn's calls of one agent are made within.
#[derive(Clone)]
pub struct CallScope {
    /// The run.
    pub run: RunId,
    /// The agent that calls.
    pub agent: AgentId,
    /// Its attempt, from 1.
    pub attempt: u32,
    /// Its turn, from 1.
    pub turn: u32,
    /// What its role grants.
    pub grant: Arc<Grant>,
    /// The run's rules.
    pub policy: Arc<Policy>,
    /// What people have decided about this agent's calls.
    pub approvals: Arc<BTreeMap<CallHash, Approval>>,
    /// Whether a rule that asks parks the call; else asking is refusing.
    pub ask_parks: bool,
    /// Where it works.
    pub worktree: Arc<WorktreeScope>,
    /// What runs its commands.
    pub sandbox: Arc<Sandbox>,
    /// What one call may use up.
    pub limits: CallLimits,
    /// Raised when its calls have to end.
    pub cancel: Cancel,
    /// What its tools reach beyond the worktree.
    pub services: Services,
    /// Which files it has seen.
    pub ledger: ReadLedger,
    /// Tokens that its context still has for one result.
    pub result_tokens: u64,
}

/// An agent's worktree as tools see it.
#[derive(Debug)]
pub struct WorktreeScope {
    /// Its path: for processes and for messages, never for opening a file.
    pub path: PathBuf,
    /// Its directory, below which alone files are opened.
    pub root: Arc<OwnedFd>,
    /// What processes see.
    pub view: View,
}

/// What a person decided about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It may run.
    Approved,
    /// It may not.
    Rejected {
        /// Why, in the person's words.
        reason: String,
    },
}

/// What one call may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// The largest file that is read or written, in bytes.
    pub file_bytes: u64,
    /// The time of a command that asks for none.
    pub command_timeout: Duration,
    /// The longest time that a command may ask for.
    pub max_command_timeout: Duration,
    /// The time of a search.
    pub search_timeout: Duration,
    /// Memory of a command in bytes, if it is less than what the sandbox allows.
    pub command_memory_bytes: Option<u64>,
    /// Processes of a command at once.
    pub command_processes: Option<u32>,
    /// The most bytes that a command may put out before it is ended.
    pub command_output_bytes: u64,
}

impl Default for CallLimits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        CallLimits {
            // The reference's figure; larger files are looked at with commands.
            file_bytes: 10 * MIB,
            // The reference's figure.
            command_timeout: Duration::from_secs(60),
            // A build or a test suite of a real project still fits.
            max_command_timeout: Duration::from_secs(600),
            // Ripgrep's engines read some gigabytes in that time; a search that needs more is too broad.
            search_timeout: Duration::from_secs(10),
            command_memory_bytes: None,
            // Enough for a parallel build, far below what takes a machine down.
            command_processes: Some(512),
            // Nobody reads more, and it fits on every disk.
            command_output_bytes: 64 * MIB,
        }
    }
}
