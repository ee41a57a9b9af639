//! A kit for testing tools: a temporary worktree, services that record their calls, and a scope.
//!
//! Requires the feature `harness`, which no shipped program enables. Only the services are fakes;
//! files, executor and sandbox are real.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::collections::Mutex;
use orchestrate_core::event::settings::RunSettings;
use orchestrate_core::messages::{MAX_DEADLINE_SECONDS, Outgoing};
use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::host::WebUrl;
use orchestrate_core::policy::tool_settings::WebRequests;
use orchestrate_core::policy::web::{WebFailure, WebServiceName};
use orchestrate_core::policy::{CacheMode, Grant, Policy};
use orchestrate_core::projections::aggregated::{AgentChanges, AggregatedResults};
use orchestrate_core::projections::review::ChangedFile;
use orchestrate_core::run::child::KeptWork;
use orchestrate_core::run::{Delivery, Receipt};
use orchestrate_core::secrecy::taint::{Exposure, TaintGuard};
use orchestrate_core::{
    Address, AgentHandle, AgentId, AgentInfo, AgentStatus, BlobId, CallId, Oid, ReviewVerdict,
    RunId, TaskId, ToolCall, ToolSettings, WaitRefused,
};
use orchestrate_sandbox::{Cancel, HostView, Sandbox, View};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

pub use crate::git::FakeGit;
use crate::git::commit;
pub use crate::web::FakeWeb;
use orchestrate_tools::{
    AgentCpu, AgentOperation, AgentService, AgentsWait, Artifact, ArtifactPage, ArtifactStore,
    CallLimits, CallOutcome, CallRecord, CallRecorder, CallScope, ChildRequest, EgressService,
    EndSlot, EndedAgentsWait, Executor, FileContents, FileStamp, GitService, NoReplay, Notes,
    OutgoingMessage, PageRange, PlanService, ProxiedProgram, ReadLedger, ReplayService, Replayable,
    ReviewService, SearchService, ServiceError, Services, SharedValues, ShowsPath, SkillService,
    ToolOutput, ToolRegistry, ViewSource, WebService, WorktreeScope,
};

/// The default maximum size of a result in tokens.
const RESULT_TOKENS: u64 = 4_000;

/// A worktree, an executor, and the services of one agent.
pub struct ToolHarness {
    directory: TempDir,
    /// The executor under test.
    pub executor: Arc<Executor>,
    /// The scope of the next call, which a test can change.
    pub scope: CallScope,
    /// The recorded starts and ends of calls.
    pub recorder: Arc<FakeRecorder>,
    /// The messages sent to other agents.
    pub agents: Arc<FakeAgents>,
    /// The agent's branch.
    pub git: Arc<FakeGit>,
    /// The web.
    pub web: Arc<FakeWeb>,
}

impl ToolHarness {
    /// Creates an empty worktree and an executor of these tools, all of them granted.
    ///
    /// # Errors
    /// Fails on an I/O error, or if a tool's schema is invalid.
    pub fn new(registry: ToolRegistry, sandbox: Sandbox) -> io::Result<ToolHarness> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().canonicalize()?.join("worktree");
        fs::create_dir(&path)?;
        let root = Arc::new(OwnedFd::from(fs::File::open(&path)?));
        let names: Vec<String> = registry
            .tools(None)
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect();
        let recorder = Arc::new(FakeRecorder::default());
        let agents = Arc::new(FakeAgents::default());
        let (git, web) = (Arc::new(FakeGit::default()), Arc::new(FakeWeb::default()));
        let services = Services {
            git: Arc::clone(&git) as Arc<dyn GitService>,
            agents: Arc::clone(&agents) as Arc<dyn AgentService>,
            plan: Arc::new(FakePlan),
            skills: Arc::new(FakeSkills),
            review: Arc::new(FakeReview),
            recorder: Arc::clone(&recorder) as Arc<dyn CallRecorder>,
            artifacts: Arc::new(FakeArtifacts::default()),
            replay: Arc::new(NoReplay),
            web: Arc::clone(&web) as Arc<dyn WebService>,
            search: Arc::clone(&web) as Arc<dyn SearchService>,
            egress: Arc::new(FakeEgress),
        };
        let view = View::Host(HostView {
            writable: vec![path.clone()],
            ..HostView::default()
        });
        let scope = CallScope {
            run: RunId::new("r-harness"),
            agent: TaskId::new("T1"),
            attempt: 1,
            turn: 1,
            grant: Arc::new(Grant::of_tools(names.iter().map(String::as_str))),
            policy: Arc::new(Policy::default()),
            taint: Arc::new(TaintGuard::new(
                &RunSettings::default(),
                Exposure::default(),
            )),
            approvals: Arc::new(BTreeMap::new()),
            ask_parks: false,
            worktree: Arc::new(WorktreeScope {
                path,
                root,
                view: ViewSource::new(move || view.clone()),
                checked_out: 0,
            }),
            sandbox: Arc::new(sandbox),
            alternatives: Arc::default(),
            web: Arc::new(web_requests()),
            limits: CallLimits::from_settings(&ToolSettings::default()),
            agent_cpu: AgentCpu::default(),
            cancel: Cancel::new(),
            services,
            ledger: ReadLedger::default(),
            notes: Notes::default(),
            shared: SharedValues::default(),
            result_tokens: RESULT_TOKENS,
        };
        let executor = Arc::new(Executor::new(registry).map_err(io::Error::other)?);
        Ok(ToolHarness {
            directory,
            executor,
            scope,
            recorder,
            agents,
            git,
            web,
        })
    }

    /// Runs further calls within these settings, as a run that has them does.
    pub fn limit(&mut self, settings: &ToolSettings) {
        self.scope.limits = CallLimits::from_settings(settings);
        self.scope.agent_cpu = AgentCpu::from_settings(settings, 0);
        self.scope.web = Arc::new(settings.web_requests.clone());
        let policy = Policy::clone(&self.scope.policy).limited(settings, &self.scope.worktree.path);
        self.scope.policy = Arc::new(policy);
    }

    /// Returns the path of the worktree.
    pub fn path(&self) -> &Path {
        &self.scope.worktree.path
    }

    /// Returns the directory around the worktree, which no tool may touch.
    pub fn outside(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file of the worktree, creating missing directories.
    ///
    /// # Errors
    /// Fails on an I/O error.
    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        let path = self.path().join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)
    }

    /// Returns the content of a file of the worktree.
    ///
    /// # Errors
    /// Fails on an I/O error, or if the file is not UTF-8.
    pub fn content(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.path().join(path))
    }

    /// Creates a call of a tool with a new id.
    pub fn make_call(&self, tool: &str, arguments: Value) -> ToolCall {
        let number = self.recorder.records().len() + 1;
        ToolCall {
            id: CallId::new(format!("call-{number}")),
            name: tool.to_owned(),
            arguments,
        }
    }

    /// Runs a call and returns the executor's outcome.
    pub async fn outcome(&self, tool: &str, arguments: Value) -> CallOutcome {
        self.executor
            .call(&self.make_call(tool, arguments), &self.scope)
            .await
    }

    /// Runs a call and returns its output; a call that is parked or waits counts as refused.
    pub async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let call = self.make_call(tool, arguments);
        match self.executor.call(&call, &self.scope).await {
            CallOutcome::Done(output) => output,
            CallOutcome::NeedsApproval {
                call: hash, rule, ..
            } => {
                let parked = orchestrate_tools::ToolError::denied(
                    &rule,
                    format!("the call {hash} waits for approval"),
                );
                ToolOutput::failed(&call.id, &parked)
            }
            CallOutcome::Waits => {
                let waits = orchestrate_tools::ToolError::denied(
                    "waits",
                    "the call waits for other agents",
                );
                ToolOutput::failed(&call.id, &waits)
            }
        }
    }
}

/// Returns settings by which `web_search` asks `search.example`.
fn web_requests() -> WebRequests {
    let service = (
        WebServiceName::Searxng,
        "https://search.example/".to_owned(),
    );
    WebRequests {
        search_service: Some(WebServiceName::Searxng),
        services: [service].into(),
        ..WebRequests::default()
    }
}

/// A proxy that decides about two hosts as soon as it is asked for, and connects to none.
struct FakeEgress;

#[async_trait]
impl EgressService for FakeEgress {
    async fn serve(&self, program: ProxiedProgram) -> ServiceError {
        let ProxiedProgram {
            destinations,
            decided,
            ..
        } = program;
        for asked in [
            "http://example.org/",
            "http://localhost/",
            "http://api.github.com/",
        ] {
            let Ok(url) = WebUrl::parse(asked) else {
                continue;
            };
            let host = url.host().to_string();
            decided.push(match destinations.admit(&url) {
                Ok(rule) => EgressDecision::allowed(asked, host, url.port(), rule),
                Err(WebFailure::Refused { rule, reason }) => {
                    EgressDecision::refused(asked, rule, reason).about(host, url.port())
                }
                Err(failure) => return ServiceError::Failed(failure.to_string()),
            });
        }
        std::future::pending().await
    }
}

/// A recorded start or end of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    /// The start of a call.
    Started(CallRecord),
    /// The end of a call.
    Ended(ToolOutput),
}

/// Records starts and ends in memory, in their order.
#[derive(Debug, Default)]
pub struct FakeRecorder {
    records: Arc<Mutex<Vec<Recorded>>>,
    ended: Arc<tokio::sync::Notify>,
    /// Whether every recording fails.
    broken: Mutex<bool>,
}

impl FakeRecorder {
    /// Returns all records so far.
    pub fn records(&self) -> Vec<Recorded> {
        self.records.lock().clone()
    }

    /// Returns the recorded ends so far.
    pub fn ends(&self) -> Vec<ToolOutput> {
        let ended = |record| match record {
            Recorded::Ended(end) => Some(end),
            Recorded::Started(_) => None,
        };
        self.records().into_iter().filter_map(ended).collect()
    }

    /// Makes every further recording fail.
    pub fn break_down(&self) {
        *self.broken.lock() = true;
    }

    /// Waits until at least `count` ends are recorded.
    pub async fn wait_for_ends(&self, count: usize) {
        loop {
            let notified = self.ended.notified();
            if self.ends().len() >= count {
                return;
            }
            notified.await;
        }
    }

    fn check(&self) -> Result<(), ServiceError> {
        if *self.broken.lock() {
            Err(ServiceError::Failed("the disk is full".to_owned()))
        } else {
            Ok(())
        }
    }
}

struct FakeSlot {
    records: Arc<Mutex<Vec<Recorded>>>,
    ended: Arc<tokio::sync::Notify>,
}

#[async_trait]
impl CallRecorder for FakeRecorder {
    async fn started(&self, record: &CallRecord) -> Result<Box<dyn EndSlot>, ServiceError> {
        self.check()?;
        self.records.lock().push(Recorded::Started(record.clone()));
        Ok(Box::new(FakeSlot {
            records: Arc::clone(&self.records),
            ended: Arc::clone(&self.ended),
        }))
    }

    async fn not_run(&self, record: &CallRecord, end: ToolOutput) -> Result<(), ServiceError> {
        self.check()?;
        self.records
            .lock()
            .extend([Recorded::Started(record.clone()), Recorded::Ended(end)]);
        self.ended.notify_waiters();
        Ok(())
    }
}

impl EndSlot for FakeSlot {
    fn finished(
        self: Box<Self>,
        end: ToolOutput,
    ) -> Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>> {
        self.records.lock().push(Recorded::Ended(end));
        self.ended.notify_waiters();
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Records messages and waits; the only other agents are `T2`, which has ended, and `T3`, which
/// works.
#[derive(Debug, Default)]
pub struct FakeAgents {
    sent: Mutex<Vec<OutgoingMessage>>,
    waits: Mutex<Vec<AgentsWait>>,
    children: Mutex<Vec<ChildRequest>>,
}

impl FakeAgents {
    /// Returns all sent messages.
    pub fn sent(&self) -> Vec<OutgoingMessage> {
        self.sent.lock().clone()
    }

    /// Returns all calls that spawned a child.
    pub fn children(&self) -> Vec<ChildRequest> {
        self.children.lock().clone()
    }

    /// Returns all calls that wait.
    pub fn waits(&self) -> Vec<AgentsWait> {
        self.waits.lock().clone()
    }
}

/// Returns one of the other agents.
fn agent(id: &AgentId) -> Result<AgentStatus, ServiceError> {
    let (state, liveness, summary) = match id.as_str() {
        "T2" => ("merged", "idle-done", Some("It is written.")),
        "T3" => ("running", "working", None),
        _ => {
            return Err(ServiceError::Invalid(format!(
                "there is no agent `{id}`; there are `T2` and `T3`"
            )));
        }
    };
    let status = json!({
        "agent_id": id, "title": "Write it",
            "role": "implementer",
            "state": state,
            "liveness": liveness,
        "attempt": 1, "turns": 2, "tokens": 300, "summary": summary,
    });
    serde_json::from_value(status).map_err(|error| ServiceError::Failed(error.to_string()))
}

/// Requires that a message goes to the one agent that reads any.
fn receiver(message: &Outgoing) -> Result<(), ServiceError> {
    match message.to == Address::from("T2") {
        true => Ok(()),
        false => Err(ServiceError::Invalid(format!(
            "there is no agent `{}`; there is `T2`",
            message.to
        ))),
    }
}

/// Returns the role of a child.
fn role(child: &ChildRequest) -> Result<String, ServiceError> {
    match child.role.as_deref().unwrap_or("implementer") {
        "nobody" => Err(ServiceError::Invalid(
            "there is no role `nobody`; there are: implementer".to_owned(),
        )),
        role => Ok(role.to_owned()),
    }
}

#[async_trait]
impl AgentService for FakeAgents {
    async fn send_message(
        &self,
        message: OutgoingMessage,
    ) -> Result<Option<Receipt>, ServiceError> {
        receiver(&message.message)?;
        let (to, kind) = ("T2".into(), message.message.kind.unwrap_or_default());
        let waits = message.message.waits;
        let mut sent = self.sent.lock();
        sent.push(message);
        let sequence = sent.len() as u64;
        let delivery = Delivery {
            to,
            sequence,
            kind,
            acknowledged: sequence - 1,
        };
        Ok((!waits).then(|| Receipt {
            sent: vec![delivery],
            ..Receipt::default()
        }))
    }

    async fn rehearse(&self, operation: &AgentOperation) -> Result<(), ServiceError> {
        match operation {
            AgentOperation::Send(message) => receiver(message),
            AgentOperation::Spawn(child) => role(child).map(drop),
            AgentOperation::Terminate(id) => agent(id).map(drop),
            AgentOperation::Wait {
                timeout_seconds: Some(seconds),
                ..
            } if *seconds > MAX_DEADLINE_SECONDS => Err(ServiceError::Invalid(
                WaitRefused::TooLong { seconds: *seconds }.to_string(),
            )),
            AgentOperation::Wait { agents: ids, .. } | AgentOperation::Aggregate(ids) => {
                ids.iter().try_for_each(|id| agent(id).map(drop))
            }
        }
    }

    async fn spawn(&self, child: ChildRequest) -> Result<AgentHandle, ServiceError> {
        let role = role(&child)?;
        let mut children = self.children.lock();
        let (tools, budget) = (child.tools.clone().unwrap_or_default(), child.budget);
        children.push(child);
        let agent_id = AgentId::new(format!("child_{}", children.len()));
        Ok(AgentHandle {
            branch: format!("orchestrate/r-harness/{agent_id}"),
            agent_id,
            role,
            tools,
            budget,
        })
    }

    async fn terminate(
        &self,
        _: &CallId,
        id: &AgentId,
    ) -> Result<Option<Vec<KeptWork>>, ServiceError> {
        let AgentStatus { info, .. } = agent(id)?;
        let branch = Some(format!("orchestrate/r-harness/{id}"));
        let commit = Some(commit("").id);
        let kept = KeptWork {
            agent_id: id.clone(),
            title: info.title,
            state: info.state,
            branch,
            commit,
        };
        Ok(info.state.is_settled().then(|| vec![kept]))
    }

    async fn status(&self, id: &AgentId) -> Result<AgentStatus, ServiceError> {
        agent(id)
    }

    async fn active(&self) -> Result<Vec<AgentInfo>, ServiceError> {
        Ok(vec![agent(&"T3".into())?.info])
    }

    async fn aggregate(
        &self,
        agents: &[AgentId],
        shows: ShowsPath,
    ) -> Result<AggregatedResults, ServiceError> {
        let changes = |id: &AgentId| {
            agent(id)?;
            let file = ChangedFile {
                path: "src/lib.rs".to_owned(),
                added: 1,
                ..ChangedFile::default()
            };
            Ok(AgentChanges {
                agent_id: id.clone(),
                files: vec![file],
            })
        };
        let changes = agents
            .iter()
            .map(changes)
            .collect::<Result<Vec<_>, ServiceError>>()?;
        let mut together = AggregatedResults::combine(Vec::new(), &changes);
        match shows("src/lib.rs") {
            true => together.diff = "+one\n".to_owned(),
            false => together.withheld = vec!["src/lib.rs".to_owned()],
        }
        Ok(together)
    }

    async fn wait(&self, wait: AgentsWait) -> Result<Option<EndedAgentsWait>, ServiceError> {
        let agents = wait
            .agents
            .iter()
            .map(agent)
            .collect::<Result<Vec<_>, _>>()?;
        let all_done = agents.iter().all(|agent| agent.info.state.is_settled());
        if !all_done {
            self.waits.lock().push(wait);
            return Ok(None);
        }
        Ok(Some(EndedAgentsWait {
            all_done,
            timed_out: false,
            has_message: false,
            agents,
            merged: Vec::new(),
        }))
    }
}

/// A plan with one section, `Goal`.
struct FakePlan;

#[async_trait]
impl PlanService for FakePlan {
    async fn read(&self, section: Option<&str>) -> Result<String, ServiceError> {
        match section {
            None | Some("Goal") => Ok("## Goal\n\nOne log.\n".to_owned()),
            Some(other) => Err(ServiceError::Invalid(format!(
                "the plan has no section `{other}`; it has: Goal"
            ))),
        }
    }
}

/// One skill, `release`, without other files.
struct FakeSkills;

#[async_trait]
impl SkillService for FakeSkills {
    async fn read(&self, name: &str, file: Option<&str>) -> Result<String, ServiceError> {
        match (name, file) {
            ("release", None) => Ok("Tag the commit.\n".to_owned()),
            _ => Err(ServiceError::Invalid(format!(
                "there is no skill `{name}`; the skills: release"
            ))),
        }
    }
}

/// A review of one task, `T2`.
struct FakeReview;

#[async_trait]
impl ReviewService for FakeReview {
    async fn give(&self, verdict: ReviewVerdict) -> Result<(), ServiceError> {
        match verdict
            .changes
            .iter()
            .find(|change| change.task.as_str() != "T2")
        {
            Some(other) => Err(ServiceError::Invalid(format!(
                "{} does not wait for your verdict",
                other.task
            ))),
            None => Ok(()),
        }
    }
}

/// Stores artifacts in memory, as `a1`, `a2`, …
#[derive(Debug, Default)]
struct FakeArtifacts {
    kept: Mutex<Vec<(Artifact, Vec<u8>)>>,
}

#[async_trait]
impl ArtifactStore for FakeArtifacts {
    async fn put(&self, bytes: Vec<u8>, file: Option<String>) -> Result<Artifact, ServiceError> {
        let mut kept = self.kept.lock();
        let (blob, size) = (BlobId::new(sha256_hex(&bytes)), bytes.len() as u64);
        let artifact = Artifact {
            handle: format!("a{}", kept.len() + 1),
            blob,
            bytes: size,
            file,
        };
        kept.push((artifact.clone(), bytes));
        Ok(artifact)
    }

    fn file_of(&self, handle: &str) -> Option<String> {
        let kept = self.kept.lock();
        kept.iter()
            .find(|(artifact, _)| artifact.handle == handle)
            .and_then(|(artifact, _)| artifact.file.clone())
    }

    async fn page(&self, handle: &str, range: PageRange) -> Result<ArtifactPage, ServiceError> {
        let kept = self.kept.lock();
        let found = kept.iter().find(|(artifact, _)| artifact.handle == handle);
        let (_, found) = found
            .ok_or_else(|| ServiceError::Invalid(format!("there is no artifact `{handle}`")))?;
        Ok(ArtifactPage::extract(found, range))
    }
}

/// Keeps results in memory, and knows the content of no file without reading it.
#[derive(Debug, Default)]
pub struct FakeReplay {
    results: Mutex<BTreeMap<String, Vec<u8>>>,
}

struct UnknownContents;

impl FileContents for UnknownContents {
    fn known(&self, _: &str, _: &FileStamp) -> Option<Oid> {
        None
    }

    fn read(&self, _: &FileStamp, bytes: &[u8]) -> Option<Oid> {
        Some(Oid::new(sha256_hex(bytes)))
    }
}

impl ReplayService for FakeReplay {
    fn mode(&self, _: &str) -> CacheMode {
        CacheMode::Use
    }

    fn basis(&self) -> &str {
        ""
    }

    fn contents(&self) -> Option<Arc<dyn FileContents>> {
        Some(Arc::new(UnknownContents))
    }

    fn key(&self, call: &Replayable) -> String {
        call.digest.clone()
    }

    fn find(&self, call: &Replayable) -> Option<Vec<u8>> {
        self.results.lock().get(&call.digest).cloned()
    }

    fn store(&self, call: &Replayable, result: &[u8]) {
        self.results
            .lock()
            .insert(call.digest.clone(), result.to_vec());
    }
}

fn sha256_hex(bytes: &[u8]) -> String {
    orchestrate_core::hex(&Sha256::digest(bytes))
}
