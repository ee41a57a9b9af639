//! What tools need from outside their worktree, as traits that the coordinator implements.
//!
//! The traits let git and agent tools reach the coordinator without a dependency cycle. A
//! [`Services`] value belongs to one agent: no method takes the caller's name, so no tool can act
//! for another agent.

use std::future::Future;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::event::CacheLookup;
use orchestrate_core::messages::Outgoing;
use orchestrate_core::policy::web::{
    Credential, Destinations, WebFailure, WebRequest, WebResponse,
};
use orchestrate_core::policy::{CacheMode, Decision};
use orchestrate_core::projections::aggregated::AggregatedResults;
use orchestrate_core::run::Receipt;
use orchestrate_core::run::child::KeptWork;
use orchestrate_core::{
    AgentHandle, AgentId, AgentInfo, AgentStatus, CallHash, CallId, LeftAside, Oid, ReviewVerdict,
};
use orchestrate_sandbox::Cancel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{Artifact, FileContents, ServiceError, ToolOutput};
use crate::services::{
    AgentOperation, BranchAction, ChildRequest, DecidedHosts, GitOperation, SearchService,
    StashAction,
};

/// The services for one agent's tools.
#[derive(Clone)]
pub struct Services {
    /// The agent's own branch.
    pub git: Arc<dyn GitService>,
    /// Messages to other agents.
    pub agents: Arc<dyn AgentService>,
    /// The plan of the run.
    pub plan: Arc<dyn PlanService>,
    /// The skills of the run.
    pub skills: Arc<dyn SkillService>,
    /// The reviews of other tasks.
    pub review: Arc<dyn ReviewService>,
    /// Records the starts and ends of calls.
    pub recorder: Arc<dyn CallRecorder>,
    /// Stores complete texts of which a result shows a part.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Finds and stores the results of calls that can be replayed.
    pub replay: Arc<dyn ReplayService>,
    /// Requests to other hosts.
    pub web: Arc<dyn WebService>,
    /// Searches by the endpoint of the agent's model.
    pub search: Arc<dyn SearchService>,
    /// The proxies of programs.
    pub egress: Arc<dyn EgressService>,
}

/// The proxies of programs that use the network.
#[async_trait]
pub trait EgressService: Send + Sync {
    /// Serves as the proxy of a program: each request is decided, and each decision recorded before
    /// it is carried out. Returns only if that is not possible; dropping the future ends all
    /// connections.
    async fn serve(&self, program: ProxiedProgram) -> ServiceError;
}

/// A program that reaches nothing but a proxy.
pub struct ProxiedProgram {
    /// The call that runs it.
    pub call: CallId,
    /// The socket that its connections arrive at.
    pub listener: TcpListener,
    /// Decides where they may lead.
    pub destinations: Arc<dyn Destinations>,
    /// Gets each decision.
    pub decided: DecidedHosts,
}

/// Requests to other hosts.
#[async_trait]
pub trait WebService: Send + Sync {
    /// Makes a request with the key that it names, and follows redirects; every host and every
    /// address that it would connect to is asked about. Dropping the future ends the request.
    ///
    /// # Errors
    /// [`WebFailure`] if there is no response; a response with a status of failure is one.
    async fn fetch(
        &self,
        request: WebRequest,
        destinations: Arc<dyn Destinations>,
    ) -> Result<WebResponse, WebFailure>;
    /// Requires that the user has set a key that requests could not be made without.
    ///
    /// # Errors
    /// [`WebFailure::NoKey`] as [`WebService::fetch`].
    fn require_key(&self, credential: Credential) -> Result<(), WebFailure>;
}

/// Operations on the agent's own branch, which the coordinator carries out and records.
#[async_trait]
pub trait GitService: Send + Sync {
    /// Returns the differences between the worktree and the agent's last commit.
    async fn status(&self) -> Result<GitStatus, ServiceError>;
    /// Reports whether git ignores a file of the worktree, so that it will not be committed.
    async fn ignores(&self, path: &str) -> Result<bool, ServiceError>;
    /// Returns a diff from the last commit as text: to the worktree or, if `staged`, to what the
    /// next commit takes.
    async fn diff(&self, staged: bool, shows: ShowsPath) -> Result<ShownDiff, ServiceError>;
    /// Returns at most `limit` commits of the agent's branch, newest first.
    async fn log(&self, limit: usize) -> Result<Vec<GitCommit>, ServiceError>;
    /// Commits what is selected, or the worktree if nothing is. Fails with
    /// [`ServiceError::Invalid`] if there is nothing to commit.
    async fn commit(&self, message: &str) -> Result<GitCommit, ServiceError>;
    /// Selects the current contents of files and folders for the next commit, beside what is
    /// selected already, and returns everything that is. Fails with [`ServiceError::Invalid`] if a
    /// path names nothing that can be committed.
    async fn add(&self, files: &[String]) -> Result<Vec<GitChange>, ServiceError>;
    /// Creates or deletes a name of the agent's own for a commit, or lists these names. Fails with
    /// [`ServiceError::Invalid`] if the name is taken, unknown or not allowed.
    async fn branch(
        &self,
        action: BranchAction,
        name: Option<&str>,
    ) -> Result<GitBranchResult, ServiceError>;
    /// Brings files of a commit into the worktree, all of them if no paths are given; the worktree
    /// stays on its branch. Fails with [`ServiceError::Invalid`] if there is no such commit or
    /// path, or a file would be lost.
    async fn checkout(
        &self,
        revision: &str,
        paths: &[String],
    ) -> Result<GitCheckoutResult, ServiceError>;
    /// Puts the worktree's changes on the agent's own stack or takes them from it. Fails with
    /// [`ServiceError::Invalid`] if there are none, or if they conflict with the worktree.
    async fn stash(&self, action: StashAction) -> Result<GitStashResult, ServiceError>;
    /// Stores the worktree's files as they are, and returns the commit that holds them until the
    /// next call of this.
    async fn keep_before(&self) -> Result<Oid, ServiceError>;
    /// Returns what differs between a commit and the worktree's files.
    async fn changes_since(&self, commit: &Oid) -> Result<Vec<GitChange>, ServiceError>;
    /// Merges the branch of another agent, or the result so far, into the agent's branch. A
    /// conflict is written into the worktree and is not an error. Fails with
    /// [`ServiceError::Invalid`] if the branch cannot be merged.
    async fn merge(&self, branch: &str) -> Result<MergeResult, ServiceError>;
    /// Looks whether an operation could be carried out, without any effect on the branch or the
    /// worktree. Fails as the operation does, as far as that is known before.
    async fn rehearse(&self, operation: &GitOperation) -> Result<(), ServiceError>;
    /// Returns what a push of the agent's branch would do; `branch` is its name there, by default
    /// its own. Fails with [`ServiceError::Invalid`] if there is nothing to push, or the remote or
    /// the name of the branch cannot be used.
    async fn foresee_push(
        &self,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<PushPlan, ServiceError>;
    /// Carries out a push that was decided about. Fails with [`ServiceError::Invalid`] if it would
    /// do something else now, or the agent can do something about the failure.
    async fn push(
        &self,
        plan: &PushPlan,
        terms: RemoteTerms,
    ) -> Result<GitPushResult, ServiceError>;
    /// Returns what a pull would do; `branch` is by default the one that the run started from.
    /// Fails as [`GitService::foresee_push`] does.
    async fn foresee_pull(
        &self,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<PullPlan, ServiceError>;
    /// Fetches the branch of a pull that was decided about, and merges it as [`GitService::merge`]
    /// does. Fails as [`GitService::push`] does.
    async fn pull(
        &self,
        plan: &PullPlan,
        terms: RemoteTerms,
    ) -> Result<GitPullResult, ServiceError>;
}

/// The differences between a worktree and its last commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitStatus {
    /// The short name of the agent's branch.
    pub branch: String,
    /// The last commit, if there is one.
    pub head: Option<Oid>,
    /// The paths that differ.
    pub changes: Vec<GitChange>,
    /// What the next commit takes; empty if it takes all changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<GitChange>,
    /// The commit that is being merged: the next commit becomes its child, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merging: Option<Oid>,
}

/// Reports whether the content of a path may be shown.
pub type ShowsPath = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A diff, as far as it may be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownDiff {
    /// The diff, without the paths below.
    #[serde(rename = "diff")]
    pub text: String,
    /// The paths that differ, but may not be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}

/// One path that differs from the last commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitChange {
    /// Git's letter: `A`, `M`, `D`, `R`, `T`, `U`, or `?` for a file that is not tracked yet.
    pub status: char,
    /// The path, relative to the worktree.
    pub path: String,
}

/// A commit of the agent's branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCommit {
    /// The id of the commit.
    pub id: Oid,
    /// The whole message.
    pub message: String,
    /// The author as `name <address>`.
    pub author: String,
    /// The time of the commit in Unix seconds.
    pub time: i64,
    /// Paths of the worktree that git cannot store; only set for a commit that was just made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What else stays in the worktree: caches, build outputs, what looks like a secret; only set
    /// in the same case.
    #[serde(default, skip_serializing_if = "LeftAside::is_empty")]
    pub aside: LeftAside,
}

/// The agent's own names for commits, after an operation on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitBranchResult {
    /// The operation.
    pub action: BranchAction,
    /// The short name of the branch that the worktree is on.
    pub current: String,
    /// The last commit.
    pub head: Oid,
    /// The agent's names, sorted.
    pub branches: Vec<GitBranch>,
}

/// A name for a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitBranch {
    /// The name.
    pub name: String,
    /// The commit.
    pub commit: Oid,
}

/// The files that a checkout brought into the worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCheckoutResult {
    /// The commit that they are from.
    pub commit: Oid,
    /// What changed in the worktree.
    pub changes: Vec<GitChange>,
    /// A commit with the worktree's files before, if they differed from the last commit.
    pub before: Option<Oid>,
}

/// The agent's own stack of set-aside changes, after an operation on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitStashResult {
    /// The operation.
    pub action: StashAction,
    /// The entry that was pushed, popped or dropped.
    pub entry: Option<GitStash>,
    /// The entries that are left, newest first.
    pub stashes: Vec<GitStash>,
    /// What changed in the worktree.
    pub changes: Vec<GitChange>,
}

/// Changes that were set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitStash {
    /// A commit with the files; its parent is the commit that they were changed from.
    pub commit: Oid,
    /// Its subject.
    pub message: String,
    /// When, in Unix seconds.
    pub time: i64,
}

/// The result of merging a branch into the agent's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeResult {
    /// The name of what was merged.
    pub branch: String,
    /// The commit that was merged.
    pub other: Oid,
    /// Whether the agent's branch contains it now; false if there are conflicts to resolve.
    pub merged: bool,
    /// The merge commit; `None` if there are conflicts, or there was nothing to merge.
    pub commit: Option<Oid>,
    /// What changed in the worktree.
    pub changes: Vec<GitChange>,
    /// The conflicts, by file.
    pub conflicts: Vec<MergeConflict>,
}

/// A file that both sides changed in incompatible ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeConflict {
    /// The path, relative to the worktree.
    pub path: String,
    /// Git's name of the conflict, such as `contents` or `modify/delete`.
    pub kind: String,
    /// The places in the file, in order; empty if the file has no conflict markers.
    pub hunks: Vec<ConflictHunk>,
}

/// A place in a file that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictHunk {
    /// The line of the first conflict marker, from 1.
    pub first_line: usize,
    /// The line of the last conflict marker.
    pub last_line: usize,
    /// The lines of the branch that is merged.
    pub theirs: String,
    /// The lines that both sides started from.
    pub base: String,
    /// The agent's own lines.
    pub yours: String,
}

/// A push that has not been decided about. Only exactly this is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushPlan {
    /// The name of the remote.
    pub remote: String,
    /// Its address, without a password.
    pub address: String,
    /// Its host; `None` for a folder of this machine.
    pub host: Option<String>,
    /// The branch there.
    pub branch: String,
    /// The commit that the branch is moved to: the last of the agent's own branch.
    pub commit: Oid,
    /// The run's commits, newest first, one line each; a longer list ends with the number of the
    /// others.
    pub commits: Vec<String>,
    /// The user's own commits that go along; `None` if the remote has them all, as far as the
    /// user's last fetch found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users_commits: Option<UsersCommits>,
    /// Why agents do not change that branch, unless a rule names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<String>,
}

/// Commits of the user's that a push of an agent's branch would publish: those that the run started
/// from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsersCommits {
    /// How many; at most 10,000 are counted.
    pub count: usize,
    /// The newest of them, newest first, one line each.
    pub newest: Vec<String>,
}

/// A pull that has not been decided about. Only exactly this is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullPlan {
    /// The name of the remote.
    pub remote: String,
    /// Its address, without a password.
    pub address: String,
    /// Its host; `None` for a folder of this machine.
    pub host: Option<String>,
    /// The branch there.
    pub branch: String,
}

/// How long a remote may take, and what ends it before.
#[derive(Clone, Debug)]
pub struct RemoteTerms {
    /// The time limit of each connection.
    pub timeout: Duration,
    /// The maximum size in bytes of what is fetched.
    pub fetched_bytes: u64,
    /// Ends it when cancelled.
    pub cancel: Cancel,
}

/// The result of a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitPushResult {
    /// The name of the remote.
    pub remote: String,
    /// Its address, without a password.
    pub address: String,
    /// The branch there.
    pub branch: String,
    /// The commit that the branch has now.
    pub commit: Oid,
    /// What became of the branch.
    pub state: PushState,
    /// What is in the worktree and in no commit, and so was not pushed.
    pub uncommitted: Vec<GitChange>,
}

/// What became of a branch that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushState {
    /// It is new there.
    Created,
    /// It was moved forward.
    Forwarded,
    /// It had the commit already.
    UpToDate,
}

/// The result of a pull.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitPullResult {
    /// The name of the remote.
    pub remote: String,
    /// Its address, without a password.
    pub address: String,
    /// The branch there.
    pub branch: String,
    /// The merge of what was fetched.
    pub merge: MergeResult,
}

/// Messages to the other agents of the run.
#[async_trait]
pub trait AgentService: Send + Sync {
    /// Sends a message from the agent that these services belong to, and returns who gets it;
    /// `None` if the call waits for the answer, and is made again then. A call that is made again
    /// sends nothing more. Fails with [`ServiceError::Invalid`], whose text is for the sender, if
    /// nobody gets it.
    async fn send_message(&self, message: OutgoingMessage)
    -> Result<Option<Receipt>, ServiceError>;
    /// Looks whether an operation could be carried out, and records nothing. Fails as the operation
    /// does, as far as that is known before.
    async fn rehearse(&self, operation: &AgentOperation) -> Result<(), ServiceError>;
    /// Spawns a child of the agent that these services belong to, which begins with that one's work
    /// so far; the same call spawns one only once. Fails with [`ServiceError::Invalid`] if the
    /// child is refused, or the work cannot be stored as it is.
    async fn spawn(&self, child: ChildRequest) -> Result<AgentHandle, ServiceError>;
    /// Stops a descendant of the agent that these services belong to, with all below it, and
    /// returns what is left of them; while one has not ended, records that the call waits and
    /// returns `None`: the call is made again then. Fails with [`ServiceError::Invalid`] if the
    /// agent is no descendant.
    async fn terminate(
        &self,
        call: &CallId,
        agent: &AgentId,
    ) -> Result<Option<Vec<KeptWork>>, ServiceError>;
    /// Returns what is known of an agent. Fails with [`ServiceError::Invalid`] if it is unknown.
    async fn status(&self, agent: &AgentId) -> Result<AgentStatus, ServiceError>;
    /// Returns the agents that have not ended.
    async fn active(&self) -> Result<Vec<AgentInfo>, ServiceError>;
    /// Returns what agents hand back side by side, without the content of paths that may not be
    /// shown. Fails with [`ServiceError::Invalid`] if an agent is unknown.
    async fn aggregate(
        &self,
        agents: &[AgentId],
        shows: ShowsPath,
    ) -> Result<AggregatedResults, ServiceError>;
    /// Returns how a wait has ended; if it has not, records it and returns `None`: the call is made
    /// again then. Fails with [`ServiceError::Invalid`] if an agent is unknown, or cannot end
    /// before the caller does.
    async fn wait(&self, wait: AgentsWait) -> Result<Option<EndedAgentsWait>, ServiceError>;
}

/// A call that waits for other agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentsWait {
    /// The call.
    pub call: CallId,
    /// The agents.
    pub agents: Vec<AgentId>,
    /// How long it waits at most; `None` for no limit.
    pub timeout_seconds: Option<u64>,
}

/// How a wait for other agents has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedAgentsWait {
    /// Whether all of them have ended, or wait for a review of their finished work.
    pub all_done: bool,
    /// Whether its time was used up before.
    pub timed_out: bool,
    /// Whether a message for the caller has arrived, which it reads next.
    pub has_message: bool,
    /// The agents, in the order of the call.
    pub agents: Vec<AgentStatus>,
    /// What of their work was merged into the branch of the caller, and is in its worktree now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedWork>,
}

/// Work of another agent that was merged into the caller's branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedWork {
    /// The other agent.
    pub agent: AgentId,
    /// The merge.
    pub commit: Oid,
    /// The files that it changes; a longer list ends with the number of the others.
    pub files: Vec<String>,
}

/// The plan that the agent's task is part of.
#[async_trait]
pub trait PlanService: Send + Sync {
    /// Returns the plan's text, or one section of it by its heading. Fails with
    /// [`ServiceError::Invalid`] if the run has no plan, or the plan no such heading.
    async fn read(&self, section: Option<&str>) -> Result<String, ServiceError>;
}

/// The skills that the project and the user provide.
#[async_trait]
pub trait SkillService: Send + Sync {
    /// Returns a skill's body, or a file below its folder. Fails with [`ServiceError::Invalid`] if
    /// there is no such skill, or no such text file below its folder.
    async fn read(&self, name: &str, file: Option<&str>) -> Result<String, ServiceError>;
}

/// The review that the agent's task is.
#[async_trait]
pub trait ReviewService: Send + Sync {
    /// Records the verdict, which replaces an earlier one. Fails with [`ServiceError::Invalid`] if
    /// the task reviews no others, or the verdict does not fit them.
    async fn give(&self, verdict: ReviewVerdict) -> Result<(), ServiceError>;
}

/// A call that sends a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The call.
    pub call: CallId,
    /// The message.
    pub message: Outgoing,
}

/// Records starts and ends of calls, durably and always in pairs.
#[async_trait]
pub trait CallRecorder: Send + Sync {
    /// Reserves a slot for the call's end, then records the start. Returns once the start is
    /// durable.
    async fn started(&self, record: &CallRecord) -> Result<Box<dyn EndSlot>, ServiceError>;
    /// Records, in one step, the start and end of a call for which nothing ran: it was refused, or
    /// its result was replayed.
    async fn not_run(&self, record: &CallRecord, end: ToolOutput) -> Result<(), ServiceError>;
    /// Tells the run's followers what a call says of its progress; nothing is recorded.
    fn progress(&self, _call: &CallId, _text: &str) {}
}

/// The reserved slot for the end of one call.
pub trait EndSlot: Send {
    /// Submits the end immediately, without blocking; the future resolves once it is durable.
    /// Dropping the future loses nothing, so an end can also be recorded from a `Drop`
    /// implementation.
    fn finished(
        self: Box<Self>,
        end: ToolOutput,
    ) -> Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>>;
}

/// The recorded start of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call's id within its turn.
    pub call: CallId,
    /// The hash that approvals are bound to.
    pub hash: CallHash,
    /// The tool's canonical name, or the name that the model wrote if there is no such tool.
    pub tool: String,
    /// The arguments under their canonical names, as the tool receives them; redacted only if the
    /// call was refused. If they are invalid, or there is no such tool, they are as the model wrote
    /// them.
    pub arguments: Value,
    /// The paths that the call may write, relative to the worktree, which its permission was
    /// checked for.
    pub writes: Vec<String>,
    /// The paths that it may delete.
    pub deletes: Vec<String>,
    /// The policy's decision; `None` if the call failed before it was decided.
    pub decision: Option<Decision>,
    /// What the cache had for it; `None` if it was not asked.
    pub cache: Option<CacheLookup>,
}

/// The results of calls that can be replayed. [`ReplayService::contents`], `find` and `store`
/// block, and none makes a call fail: where the cache cannot be used, there is no result, and
/// nothing is stored.
pub trait ReplayService: Send + Sync {
    /// Returns how results of this tool are used.
    fn mode(&self, tool: &str) -> CacheMode;
    /// Returns what the agent's results follow from besides what the tools know, such as its rules.
    fn basis(&self) -> &str;
    /// Returns what is known of the contents of the worktree's files; `None` if that cannot be
    /// found out.
    fn contents(&self) -> Option<Arc<dyn FileContents>>;
    /// Returns the key that records of a call name.
    fn key(&self, call: &Replayable) -> String;
    /// Returns the stored result of a call.
    fn find(&self, call: &Replayable) -> Option<Vec<u8>>;
    /// Stores the result of a call.
    fn store(&self, call: &Replayable, result: &[u8]);
}

/// A call whose result can be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayable {
    /// The tool's canonical name.
    pub tool: String,
    /// SHA-256, in hexadecimal, of everything that the result follows from: the version of the
    /// tools' code, the arguments, the limits, the files, and the [basis](ReplayService::basis).
    pub digest: String,
}

/// Replays and stores nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoReplay;

impl ReplayService for NoReplay {
    fn mode(&self, _: &str) -> CacheMode {
        CacheMode::Off
    }

    fn basis(&self) -> &str {
        ""
    }

    fn contents(&self) -> Option<Arc<dyn FileContents>> {
        None
    }

    fn key(&self, _: &Replayable) -> String {
        String::new()
    }

    fn find(&self, _: &Replayable) -> Option<Vec<u8>> {
        None
    }

    fn store(&self, _: &Replayable, _: &[u8]) {}
}

/// Stores complete texts for the agent to page through.
#[async_trait]
pub trait ArtifactStore: Send + Sync {
    /// Stores bytes and returns the handle for reading them; they are durable before the call's end
    /// is recorded. The file is the real path of the one whose content they are.
    async fn put(&self, bytes: Vec<u8>, file: Option<String>) -> Result<Artifact, ServiceError>;
    /// Returns the path of the file whose content an artifact of this agent is; `None` if it is
    /// that of none, or if the handle is unknown.
    fn file_of(&self, handle: &str) -> Option<String>;
    /// Returns lines of an artifact of this agent. Fails with [`ServiceError::Invalid`] if
    /// the handle is unknown.
    async fn page(&self, handle: &str, range: PageRange) -> Result<ArtifactPage, ServiceError>;
}

/// A range of lines of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The first line, counted from 1.
    pub first_line: usize,
    /// Maximum number of lines.
    pub lines: usize,
}

/// A page of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactPage {
    /// The lines, without the line feed of the last one.
    pub text: String,
    /// Number of lines of the whole artifact.
    pub total_lines: usize,
}

impl ArtifactPage {
    /// Extracts a page from a whole artifact.
    pub fn extract(bytes: &[u8], range: PageRange) -> ArtifactPage {
        let whole = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = whole
            .lines()
            .skip(range.first_line.saturating_sub(1))
            .take(range.lines)
            .collect();
        ArtifactPage {
            text: lines.join("\n"),
            total_lines: whole.lines().count(),
        }
    }
}
