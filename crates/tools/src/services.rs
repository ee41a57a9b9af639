//! What tools need of the world beyond their worktree: traits that the coordinator implements.
//!
//! This is how git and agent tools reach the coordinator without a cycle. A [`Services`] value belongs to one
//! agent: no method takes the caller's name, so no tool can speak for another agent.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::policy::Decision;
use orchestrate_core::{AgentId, CallHash, CallId, Oid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ServiceError;
use crate::output::{Artifact, ToolOutput};

/// What one agent's tools reach beyond its worktree.
#[derive(Clone)]
pub struct Services {
    /// The agent's own branch.
    pub git: Arc<dyn GitService>,
    /// The other agents.
    pub agents: Arc<dyn AgentService>,
    /// Where starts and ends of calls are recorded.
    pub recorder: Arc<dyn CallRecorder>,
    /// Where whole texts are kept that a result shows in part.
    pub artifacts: Arc<dyn ArtifactStore>,
}

/// The agent's own branch, carried out by the coordinator on recorded paths.
#[async_trait]
pub trait GitService: Send + Sync {
    /// Compares the worktree with the agent's last commit.
    async fn status(&self) -> Result<GitStatus, ServiceError>;
    /// Reports whether git ignores a file of the worktree, so that no commit will have it.
    async fn ignores(&self, path: &str) -> Result<bool, ServiceError>;
    /// Returns the difference as text: of the worktree to the last commit, or, staged, of the last commit to the
    /// task's base (agents have no index of their own: everything is staged when it is committed).
    async fn diff(&self, staged: bool) -> Result<String, ServiceError>;
    /// Returns the newest commits of the agent's branch, newest first.
    async fn log(&self, limit: usize) -> Result<Vec<GitCommit>, ServiceError>;
    /// Commits the worktree as it stands; nothing to commit is [`ServiceError::Invalid`].
    async fn commit(&self, message: &str) -> Result<GitCommit, ServiceError>;
}

/// How a worktree differs from its last commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitStatus {
    /// The short name of the agent's branch.
    pub branch: String,
    /// The last commit.
    pub head: Option<Oid>,
    /// What differs, by path.
    pub changes: Vec<GitChange>,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitChange {
    /// Git's letter: `A`, `M`, `D`, `R`, `T`, `U`, or `?` for a file that is not tracked yet.
    pub status: char,
    /// The path, relative to the worktree.
    pub path: String,
}

/// One commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCommit {
    /// Its name.
    pub id: Oid,
    /// Its message.
    pub message: String,
    /// Its author as `name <address>`.
    pub author: String,
    /// When, in Unix seconds.
    pub time: i64,
    /// What git cannot store of the worktree that was just committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The other agents of the run.
#[async_trait]
pub trait AgentService: Send + Sync {
    /// Sends a message and gives its sequence number; the sender is the agent whose services these are.
    /// An unknown recipient or a full mailbox is [`ServiceError::Invalid`] with the text for the sender.
    async fn send_message(&self, message: OutgoingMessage) -> Result<u64, ServiceError>;
}

/// A message as a tool hands it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Who gets it.
    pub to: AgentId,
    /// The text.
    pub body: String,
    /// Seconds from now after which it is no longer of use.
    pub deadline_seconds: Option<u64>,
}

/// Where starts and ends of calls are recorded, durably and always in pairs.
#[async_trait]
pub trait CallRecorder: Send + Sync {
    /// Reserves the slot for the call's end, then records the start; resolves when that is durable.
    async fn started(&self, record: &CallRecord) -> Result<Box<dyn EndSlot>, ServiceError>;
    /// Records start and end of a call that was refused before anything ran, in one step.
    async fn refused(&self, record: &CallRecord, end: ToolOutput) -> Result<(), ServiceError>;
}

/// The reserved place of one call's end.
pub trait EndSlot: Send {
    /// Hands the end over at once, never waiting; the future resolves when it is durable. A future that is
    /// dropped loses nothing, so a drop guard can record an end too.
    fn finished(self: Box<Self>, end: ToolOutput) -> Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>>;
}

/// The start of a call, as it is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call's id within its turn.
    pub call: CallId,
    /// The hash that binds approvals to it.
    pub hash: CallHash,
    /// The tool's canonical name, or the name as the model wrote it if there is no such tool.
    pub tool: String,
    /// The arguments under their canonical names, as they run; not redacted.
    pub arguments: Value,
    /// What the policy decided; nothing if the call never came so far.
    pub decision: Option<Decision>,
}

/// Keeps whole texts for the agent to page through.
#[async_trait]
pub trait ArtifactStore: Send + Sync {
    /// Keeps bytes, durably before the call's end is recorded, and gives the handle to page by.
    async fn put(&self, bytes: Vec<u8>) -> Result<Artifact, ServiceError>;
    /// Returns lines of an artifact of this agent; an unknown handle is [`ServiceError::Invalid`].
    async fn page(&self, handle: &str, range: PageRange) -> Result<ArtifactPage, ServiceError>;
}

/// Which lines of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The first line, from 1.
    pub first_line: usize,
    /// The most lines.
    pub lines: usize,
}

/// Lines of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactPage {
    /// The lines, without the last one's line feed.
    pub text: String,
    /// How many lines the artifact has.
    pub total_lines: usize,
}

impl ArtifactPage {
    /// Cuts a page out of a whole artifact.
    pub fn of(bytes: &[u8], range: PageRange) -> ArtifactPage {
        let whole = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = whole.lines().skip(range.first_line.saturating_sub(1)).take(range.lines).collect();
        ArtifactPage { text: lines.join("\n"), total_lines: whole.lines().count() }
    }
}
