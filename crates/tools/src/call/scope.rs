//! The scope of one agent's calls: the caller, its worktree and its limits.
//!
//! A scope is plain data and handles, cheap to clone, and created by the worker for one turn. Tools
//! do not receive it; they receive a [`crate::ToolContext`], created from it and a permit.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::collections::Mutex;
use orchestrate_core::policy::failure_handling::PROBE_AFTER;
use orchestrate_core::policy::tool_settings::{MAX_COMMAND_SECONDS, MAX_WEB_SECONDS, WebRequests};
use orchestrate_core::policy::{Grant, Policy};
use orchestrate_core::secrecy::taint::TaintGuard;
use orchestrate_core::{AgentId, CallHash, RunId, ToolSettings};
use orchestrate_sandbox::{Cancel, Sandbox, View};

use crate::answer::{Notes, ReadLedger};
use crate::call::AgentCpu;
use crate::services::Services;

/// The scope of the calls of one turn of one agent.
#[derive(Clone)]
pub struct CallScope {
    /// The run that the agent belongs to.
    pub run: RunId,
    /// The calling agent.
    pub agent: AgentId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The number of the turn, from 1.
    pub turn: u32,
    /// The tools and permissions of the agent's role.
    pub grant: Arc<Grant>,
    /// The run's rules.
    pub policy: Arc<Policy>,
    /// What could make the agent give private data away.
    pub taint: Arc<TaintGuard>,
    /// The user's decisions about this agent's calls.
    pub approvals: Arc<BTreeMap<CallHash, Approval>>,
    /// Whether a call is parked if a rule asks about it; if false, it is refused.
    pub ask_parks: bool,
    /// The agent's worktree.
    pub worktree: Arc<WorktreeScope>,
    /// The sandbox that runs commands.
    pub sandbox: Arc<Sandbox>,
    /// The limits of each call.
    pub limits: CallLimits,
    /// What the agent may still use of its processor time.
    pub agent_cpu: AgentCpu,
    /// The tool that may answer instead of another one which cannot, by the name of that one.
    pub alternatives: Arc<BTreeMap<String, String>>,
    /// What the user lets tools do on the web.
    pub web: Arc<WebRequests>,
    /// Ends the calls when cancelled.
    pub cancel: Cancel,
    /// The services outside the worktree.
    pub services: Services,
    /// The file versions that the agent has seen.
    pub ledger: ReadLedger,
    /// The agent's notes.
    pub notes: Notes,
    /// The values that the tools of the run share.
    pub shared: SharedValues,
    /// The tokens that the agent's context has left for one result.
    pub result_tokens: u64,
}

/// An agent's worktree, as tools use it.
#[derive(Debug)]
pub struct WorktreeScope {
    /// The path at which its processes find it, for them and for messages only; files are never
    /// opened by it.
    pub path: PathBuf,
    /// The open directory that all files are opened below.
    pub root: Arc<OwnedFd>,
    /// The view of the file system that processes have.
    pub view: ViewSource,
    /// When its files were checked out, in nanoseconds since 1970. All older files count as that
    /// old: the order in which git wrote them means nothing, and differs between worktrees.
    pub checked_out: i128,
}

/// Makes the view of a process just before it starts: what an agent may see of its repository
/// changes as it works.
#[derive(Clone)]
pub struct ViewSource(Arc<dyn Fn() -> View + Send + Sync>);

impl ViewSource {
    /// Creates one from a function.
    pub fn new(make: impl Fn() -> View + Send + Sync + 'static) -> ViewSource {
        ViewSource(Arc::new(make))
    }

    /// Returns the view as it is now.
    pub fn now(&self) -> View {
        (self.0)()
    }
}

impl std::fmt::Debug for ViewSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ViewSource")
    }
}

/// The values that the tools of one run share, one of each type. Clones are the same values.
///
/// They are kept in memory only: a run that is taken over begins without them, so a tool must be
/// able to make its value again. What has to survive belongs into the worktree or into the result
/// of a call, which are recorded.
#[derive(Clone, Default)]
pub struct SharedValues {
    values: Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl SharedValues {
    /// Returns the run's value of this type, which is its default at first.
    pub fn value<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let fresh = || Arc::new(T::default()) as Arc<dyn Any + Send + Sync>;
        let mut values = self.values.lock();
        let value = Arc::clone(values.entry(TypeId::of::<T>()).or_insert_with(fresh));
        drop(values);
        // The type is the key, so the cast succeeds.
        value.downcast().unwrap_or_default()
    }
}

/// The user's decision about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The call may run.
    Approved,
    /// The call may not run.
    Rejected {
        /// The user's reason.
        reason: String,
    },
}

/// The limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Maximum size of a file to read or write, in bytes.
    pub file_bytes: u64,
    /// Timeout of a command that does not request one.
    pub command_timeout: Duration,
    /// Maximum timeout that a command can request.
    pub max_command_timeout: Duration,
    /// How many times its timeout a command has: more than once if it ran out of it.
    pub time_factor: u32,
    /// Maximum time to wait before what was not available is tried again.
    pub longest_retry_wait: Duration,
    /// How long calls that need what is out of order are refused before one may try again.
    pub probe_after: Duration,
    /// Timeout of a search.
    pub search_timeout: Duration,
    /// Maximum processor time of a command; `None` for no limit.
    pub command_cpu: Option<Duration>,
    /// Maximum memory of a command in bytes; `None` for the sandbox's own limit.
    pub command_memory_bytes: Option<u64>,
    /// Maximum number of concurrent processes of a command.
    pub command_processes: Option<u32>,
    /// Maximum output of a command in bytes before it is killed.
    pub command_output_bytes: u64,
    /// Maximum size in bytes of what is fetched from a remote repository.
    pub fetched_bytes: u64,
    /// Maximum timeout that a request to another host can have.
    pub max_web_timeout: Duration,
    /// Maximum size of the response to one, in bytes.
    pub web_response_bytes: u64,
}

impl CallLimits {
    /// Returns the limits that a run's settings set. Where they set none, these are the product's
    /// own caps.
    pub fn from_settings(settings: &ToolSettings) -> CallLimits {
        const MIB: u64 = 1 << 20;
        // For a command that requests no other: enough for a first build of most projects.
        const COMMAND_SECONDS: u64 = 120;
        // The whole history of most projects, of which a pull brings only what is new.
        const FETCHED_BYTES: u64 = 1 << 30;
        let ToolSettings {
            file_operations,
            code_execution,
            web_requests,
            ..
        } = settings;
        let max_command_timeout = code_execution
            .timeout_seconds
            .unwrap_or(MAX_COMMAND_SECONDS);
        CallLimits {
            file_bytes: file_operations.max_file_size_mb.saturating_mul(MIB),
            command_timeout: Duration::from_secs(max_command_timeout.min(COMMAND_SECONDS)),
            max_command_timeout: Duration::from_secs(max_command_timeout),
            time_factor: 1,
            // The agent waits as well; what a server asks for is often a few seconds, up to half a
            // minute.
            longest_retry_wait: Duration::from_secs(30),
            probe_after: PROBE_AFTER,
            // Ripgrep's engines read several gigabytes in that time; a search that needs longer is
            // too broad.
            search_timeout: Duration::from_secs(10),
            command_cpu: code_execution.cpu_seconds.map(Duration::from_secs),
            command_memory_bytes: code_execution
                .memory_limit_mb
                .map(|limit| limit.saturating_mul(MIB)),
            // Enough for a parallel build, but far fewer than would overload a machine.
            command_processes: Some(512),
            // More than any agent reads, and small enough for any disk.
            command_output_bytes: 64 * MIB,
            max_web_timeout: Duration::from_secs(
                web_requests.timeout_seconds.unwrap_or(MAX_WEB_SECONDS),
            ),
            fetched_bytes: FETCHED_BYTES,
            web_response_bytes: web_requests.max_response_size_mb.saturating_mul(MIB),
        }
    }
}
