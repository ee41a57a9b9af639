//! The services available to one agent's tools beyond its worktree: its branch, the other agents,
//! the journal.
//!
//! Every value here belongs to one agent, so no tool can act for another.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::collections::Mutex;
use orchestrate_core::event::Event;
use orchestrate_core::projections::aggregated::AggregatedResults;
use orchestrate_core::run::child::{KeptWork, assigned};
use orchestrate_core::run::{AskedWait, Receipt};
use orchestrate_core::task::Work;
use orchestrate_core::{
    AgentHandle, AgentId, AgentInfo, AgentStatus, BlobId, CallId, CallOfTurn, Oid, Redactor,
    RequestedChange, ReviewVerdict, Task,
};
use orchestrate_tools::{
    AgentOperation, AgentService, AgentsWait, Artifact, ArtifactPage, ArtifactStore, BranchAction,
    CallRecord, CallRecorder, ChildRequest, EgressService, EndSlot, EndedAgentsWait,
    GitBranchResult, GitChange, GitCheckoutResult, GitCommit, GitOperation, GitPullResult,
    GitPushResult, GitService, GitStashResult, GitStatus, MergeResult, OutgoingMessage, PageRange,
    PlanService, PullPlan, PushPlan, RemoteTerms, ReplayService, ReviewService, SearchService,
    ServiceError, Services, ShownDiff, ShowsPath, SkillService, StashAction, ToolOutput,
    WebService,
};

use super::cached_results::Replays;
use super::call_end::{CallOf, finished};
use crate::error::CoordinatorError;
use crate::link::requests::{
    CallSlot, EndCall, Facts, ForeseeChild, ForeseeMessage, ForeseeTermination, ForeseeWait,
    GiveVerdict, ListActiveAgents, ReadAgentStatus, ReadBlobs, ReadHandBacks, ReadPlan, ReadSkill,
    ReadTask, Record, Request, SendMessage, SpawnChild, StartCall, TakesWorkAt, TerminateAgent,
    WaitForAgents,
};
use crate::link::worker_link::WorkerLink;
use crate::ruling::Ruling;
use crate::run::codec::value_bytes;
use crate::run::machine::web::Web;
use crate::run::new_child::NewChild;
use crate::run::program::live::LiveItem;
use crate::worker::workplace::Workplace;

/// The services of one agent's tools.
///
/// A tool of the program's own may not have come to its end when its agent has. What it keeps must
/// not hold the run open.
pub(super) struct AgentServices {
    /// `None` once they are closed.
    workplace: Mutex<Option<Arc<Workplace>>>,
    artifacts: Mutex<Vec<Artifact>>,
    replays: Arc<Replays>,
    lost: Lost,
}

impl AgentServices {
    pub(super) fn new(
        workplace: &Workplace,
        role: Option<&str>,
        artifacts: Vec<Artifact>,
    ) -> Arc<Self> {
        let replays = Arc::new(Replays::new(workplace, role));
        let artifacts = Mutex::new(artifacts);
        let workplace = Mutex::new(Some(Arc::new(workplace.clone())));
        Arc::new(Self {
            workplace,
            artifacts,
            replays,
            lost: Lost::default(),
        })
    }

    /// Releases the run; every later use fails.
    pub(super) fn close(&self) {
        self.workplace.lock().take();
        self.replays.close();
    }

    pub(super) fn workplace(&self) -> Result<Arc<Workplace>, ServiceError> {
        let workplace = self.workplace.lock().clone();
        workplace.ok_or_else(|| {
            ServiceError::Failed("the agent that made the call has ended".to_owned())
        })
    }

    /// Takes the error that prevented recording the start or end of a call, or what it did, if
    /// there was one.
    ///
    /// The agent must not continue then: a reply to an unrecorded result could never be replayed.
    pub(super) fn lost(&self) -> Option<CoordinatorError> {
        self.lost.0.lock().take()
    }
}

/// The first failure to record a call's start, its end, or what it did to the run.
#[derive(Clone, Default)]
pub(super) struct Lost(Arc<Mutex<Option<CoordinatorError>>>);

impl Lost {
    /// Stores the failure for the driver, and words it for the tool.
    pub(super) fn note(&self, error: CoordinatorError) -> ServiceError {
        let told = service_error(&error);
        self.0.lock().get_or_insert(error);
        told
    }

    /// Fails if there is one. A call that is not recorded now is made again by the next process;
    /// its result would say that it failed, which is not known.
    fn require_none(&self) -> Result<(), ServiceError> {
        let lost = self.0.lock();
        lost.as_ref()
            .map_or(Ok(()), |error| Err(service_error(error)))
    }
}

/// Returns the services of an agent's calls.
pub(super) fn services(
    services: &Arc<AgentServices>,
    web: &Arc<Web>,
    search: Arc<dyn SearchService>,
) -> Services {
    Services {
        git: Arc::clone(services) as Arc<dyn GitService>,
        agents: Arc::clone(services) as Arc<dyn AgentService>,
        plan: Arc::clone(services) as Arc<dyn PlanService>,
        skills: Arc::clone(services) as Arc<dyn SkillService>,
        review: Arc::clone(services) as Arc<dyn ReviewService>,
        recorder: Arc::clone(services) as Arc<dyn CallRecorder>,
        artifacts: Arc::clone(services) as Arc<dyn ArtifactStore>,
        replay: Arc::clone(&services.replays) as Arc<dyn ReplayService>,
        web: Arc::clone(web) as Arc<dyn WebService>,
        search,
        egress: Arc::clone(services) as Arc<dyn EgressService>,
    }
}

fn service_error(error: &CoordinatorError) -> ServiceError {
    ServiceError::Failed(error.to_string())
}

#[async_trait]
impl GitService for AgentServices {
    async fn status(&self) -> Result<GitStatus, ServiceError> {
        Ok(self.workplace()?.files.status().await?)
    }

    async fn ignores(&self, path: &str) -> Result<bool, ServiceError> {
        Ok(self.workplace()?.files.ignores(path.into()).await?)
    }

    async fn keep_before(&self) -> Result<Oid, ServiceError> {
        self.workplace()?.files.keep_before().await
    }

    async fn changes_since(&self, commit: &Oid) -> Result<Vec<GitChange>, ServiceError> {
        self.workplace()?.files.changes_since(commit).await
    }

    async fn diff(&self, staged: bool, shows: ShowsPath) -> Result<ShownDiff, ServiceError> {
        Ok(self.workplace()?.files.diff(staged, shows).await?)
    }

    async fn log(&self, limit: usize) -> Result<Vec<GitCommit>, ServiceError> {
        Ok(self.workplace()?.files.log(limit).await?)
    }

    async fn commit(&self, message: &str) -> Result<GitCommit, ServiceError> {
        let workplace = self.workplace()?;
        let files = &workplace.files;
        files
            .shown_to_git(files.commit_selected(message, &workplace.policy))
            .await
    }

    async fn add(&self, files: &[String]) -> Result<Vec<GitChange>, ServiceError> {
        let files_of = self.workplace()?.files.clone();
        files_of.shown_to_git(files_of.add(files)).await
    }

    async fn branch(
        &self,
        action: BranchAction,
        name: Option<&str>,
    ) -> Result<GitBranchResult, ServiceError> {
        let files = self.workplace()?.files.clone();
        files
            .shown_to_git(files.branch(action, name.unwrap_or_default()))
            .await
    }

    async fn checkout(
        &self,
        revision: &str,
        paths: &[String],
    ) -> Result<GitCheckoutResult, ServiceError> {
        let workplace = self.workplace()?;
        let files = &workplace.files;
        files
            .shown_to_git(files.checkout(revision, paths, &workplace.policy))
            .await
    }

    async fn stash(&self, action: StashAction) -> Result<GitStashResult, ServiceError> {
        let workplace = self.workplace()?;
        let files = &workplace.files;
        files
            .shown_to_git(files.stash(action, &workplace.policy))
            .await
    }

    async fn merge(&self, branch: &str) -> Result<MergeResult, ServiceError> {
        let workplace = self.workplace()?;
        let files = &workplace.files;
        files
            .shown_to_git(files.merge(branch, &workplace.policy))
            .await
    }

    async fn rehearse(&self, operation: &GitOperation) -> Result<(), ServiceError> {
        let workplace = self.workplace()?;
        workplace.files.rehearse(operation, &workplace.policy).await
    }

    async fn foresee_push(
        &self,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<PushPlan, ServiceError> {
        self.workplace()?.files.foresee_push(remote, branch).await
    }

    async fn push(
        &self,
        plan: &PushPlan,
        terms: RemoteTerms,
    ) -> Result<GitPushResult, ServiceError> {
        let workplace = self.workplace()?;
        workplace.files.push(plan, terms, &workplace.policy).await
    }

    async fn foresee_pull(
        &self,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<PullPlan, ServiceError> {
        self.workplace()?.files.foresee_pull(remote, branch).await
    }

    async fn pull(
        &self,
        plan: &PullPlan,
        terms: RemoteTerms,
    ) -> Result<GitPullResult, ServiceError> {
        let workplace = self.workplace()?;
        let files = &workplace.files;
        files
            .shown_to_git(files.pull(plan, terms, &workplace.policy))
            .await
    }
}

#[async_trait]
impl AgentService for AgentServices {
    async fn send_message(
        &self,
        message: OutgoingMessage,
    ) -> Result<Option<Receipt>, ServiceError> {
        let OutgoingMessage { call, message } = message;
        let call = self.call_of_turn(call).await?;
        granted(self.change(SendMessage { call, message }).await?)
    }

    async fn rehearse(&self, operation: &AgentOperation) -> Result<(), ServiceError> {
        match operation.clone() {
            AgentOperation::Send(message) => granted(self.ask(ForeseeMessage { message }).await?),
            AgentOperation::Spawn(child) => self.foresee_child(child).await.map(drop),
            AgentOperation::Terminate(agent) => {
                granted(self.ask(ForeseeTermination { agent }).await?)
            }
            AgentOperation::Wait {
                agents,
                timeout_seconds,
            } => {
                let timeout = timeout_seconds.map(Duration::from_secs);
                granted(self.ask(ForeseeWait { agents, timeout }).await?)
            }
            AgentOperation::Aggregate(agents) => {
                granted(self.ask(ReadHandBacks { agents }).await?).map(drop)
            }
        }
    }

    async fn spawn(&self, child: ChildRequest) -> Result<AgentHandle, ServiceError> {
        let workplace = self.workplace()?;
        let (mut new, existing) = self.foresee_child(child).await?;
        if let Some(child) = existing {
            return Ok(child);
        }
        let base = if delivers_report(&workplace) {
            workplace.files.tip().await?.0
        } else {
            workplace.files.commit_for_child(&workplace.policy).await?
        };
        new.base = Some(base);
        granted(self.change(SpawnChild { child: new }).await?)
    }

    async fn terminate(
        &self,
        call: &CallId,
        agent: &AgentId,
    ) -> Result<Option<Vec<KeptWork>>, ServiceError> {
        let call = self.call_of_turn(call.clone()).await?;
        self.commit_before_waiting(&call).await?;
        let agent = agent.clone();
        granted(self.change(TerminateAgent { call, agent }).await?)
    }

    async fn status(&self, agent: &AgentId) -> Result<AgentStatus, ServiceError> {
        let agent = agent.clone();
        let status = self.ask(ReadAgentStatus { agent }).await?;
        status.map_err(ServiceError::Invalid)
    }

    async fn active(&self) -> Result<Vec<AgentInfo>, ServiceError> {
        self.ask(ListActiveAgents {}).await
    }

    async fn aggregate(
        &self,
        agents: &[AgentId],
        shows: ShowsPath,
    ) -> Result<AggregatedResults, ServiceError> {
        granted(self.workplace()?.files.aggregate(agents, shows).await?)
    }

    async fn wait(&self, wait: AgentsWait) -> Result<Option<EndedAgentsWait>, ServiceError> {
        let AgentsWait {
            call,
            agents,
            timeout_seconds,
        } = wait;
        let wait = AskedWait {
            of: self.call_of_turn(call).await?,
            ids: agents,
            timeout: timeout_seconds.map(Duration::from_secs),
        };
        self.commit_before_waiting(&wait.of).await?;
        granted(self.change(WaitForAgents { wait }).await?)
    }
}

/// Returns what comes of a ruling, or words for the agent why what it asks for is refused.
fn granted<T, R: Display>(ruling: Ruling<T, R>) -> Result<T, ServiceError> {
    let decided = ruling.granted();
    decided.map_err(|why| ServiceError::Invalid(why.to_string()))
}

/// Reports whether an agent delivers a report; its files are then not part of any result.
fn delivers_report(workplace: &Workplace) -> bool {
    let role = workplace.assignment.role.as_ref();
    role.is_some_and(|role| role.delivers.is_report())
}

/// Returns the child that a call of this turn asks for, without the run's secrets.
fn new_child(redactor: &Redactor, turn: u32, child: ChildRequest) -> NewChild {
    let ChildRequest {
        call,
        task,
        role,
        context,
        tools,
        budget,
    } = child;
    let task = assigned(&redactor.owned(task));
    NewChild {
        call: call.map(|call| CallOfTurn { turn, call }),
        // Without a role, nobody has said that it must change files: an answer is enough.
        task: Task {
            may_change_nothing: role.is_none(),
            work: Work::Agent(role),
            tokens: budget,
            ..task
        },
        context: context.map(|context| redactor.owned(context)),
        tools,
        ..NewChild::default()
    }
}

#[async_trait]
impl PlanService for AgentServices {
    async fn read(&self, section: Option<&str>) -> Result<String, ServiceError> {
        let section = section.map(str::to_owned);
        let text = self.ask(ReadPlan { section }).await?;
        text.map_err(ServiceError::Invalid)
    }
}

#[async_trait]
impl SkillService for AgentServices {
    async fn read(&self, name: &str, file: Option<&str>) -> Result<String, ServiceError> {
        let asked = ReadSkill {
            name: name.to_owned(),
            file: file.map(str::to_owned),
        };
        granted(self.ask(asked).await?)
    }
}

#[async_trait]
impl ReviewService for AgentServices {
    async fn give(&self, verdict: ReviewVerdict) -> Result<(), ServiceError> {
        let workplace = self.workplace()?;
        let redactor = &workplace.host.site.redactor;
        let ReviewVerdict {
            verdict,
            changes,
            comment,
        } = verdict;
        let redacted = |change: RequestedChange| RequestedChange {
            text: redactor.owned(change.text),
            ..change
        };
        let changes = changes.into_iter().map(redacted).collect();
        let comment = comment.map(|comment| redactor.owned(comment));
        let verdict = ReviewVerdict {
            verdict,
            changes,
            comment,
        };
        granted(self.change(GiveVerdict { verdict }).await?)
    }
}

#[async_trait]
impl CallRecorder for AgentServices {
    async fn started(&self, record: &CallRecord) -> Result<Box<dyn EndSlot>, ServiceError> {
        self.lost.require_none()?;
        let workplace = self.workplace()?;
        let of = self.call(record).await?;
        let started = start_of(record, &of);
        Ok(Box::new(KeptSlot {
            slot: self.change(StartCall { started }).await?,
            link: workplace.link.clone(),
            lost: self.lost.clone(),
            of,
        }))
    }

    async fn not_run(&self, record: &CallRecord, end: ToolOutput) -> Result<(), ServiceError> {
        self.lost.require_none()?;
        let of = self.call(record).await?;
        let started = start_of(record, &of);
        let mut facts = Facts::naming(bytes_of(&end)?, |result| finished(&end, of, result));
        facts.events.insert(0, started);
        self.change(Record { facts }).await
    }

    fn progress(&self, call: &CallId, text: &str) {
        // Once the services are closed, nobody follows the call.
        let Ok(workplace) = self.workplace() else {
            return;
        };
        workplace.link.tell(LiveItem::Progress {
            task: workplace.task().clone(),
            call: call.clone(),
            text: workplace.host.site.redactor.owned(text.to_owned()),
        });
    }
}

impl AgentServices {
    /// Returns where failures to record are noted.
    pub(super) fn losses(&self) -> Lost {
        self.lost.clone()
    }

    /// Commits the worktree before a call that waits for other agents: the work of children may be
    /// merged into the branch meanwhile.
    async fn commit_before_waiting(&self, of: &CallOfTurn) -> Result<(), ServiceError> {
        let workplace = self.workplace()?;
        let call = of.clone();
        if !delivers_report(&workplace) && self.ask(TakesWorkAt { call }).await? {
            workplace
                .files
                .commit_before_merges(&workplace.policy)
                .await?;
        }
        Ok(())
    }

    /// Returns a child as the run would add it, with its handle if the same call has added it
    /// already.
    async fn foresee_child(
        &self,
        child: ChildRequest,
    ) -> Result<(NewChild, Option<AgentHandle>), ServiceError> {
        let (workplace, turn) = (self.workplace()?, self.turn().await?);
        let new = new_child(&workplace.host.site.redactor, turn, child);
        let child = new.clone();
        let existing = granted(self.ask(ForeseeChild { child }).await?)?;
        Ok((new, existing))
    }

    pub(super) async fn turn(&self) -> Result<u32, ServiceError> {
        Ok(self.ask(ReadTask {}).await?.turns())
    }

    fn artifact(&self, handle: &str) -> Option<Artifact> {
        let artifacts = self.artifacts.lock();
        let found = artifacts.iter().find(|artifact| artifact.handle == handle);
        found.cloned()
    }

    async fn call_of_turn(&self, call: CallId) -> Result<CallOfTurn, ServiceError> {
        let turn = self.turn().await?;
        Ok(CallOfTurn { turn, call })
    }

    async fn call(&self, record: &CallRecord) -> Result<CallOf, ServiceError> {
        Ok(CallOf {
            task: self.workplace()?.task().clone(),
            turn: self.turn().await?,
            tool: record.tool.clone(),
        })
    }

    async fn ask<R: Request + Send>(&self, request: R) -> Result<R::Reply, ServiceError> {
        Ok(self.workplace()?.link.ask(request).await?)
    }

    /// Makes a request that is recorded. A failure is noted for the driver, too: it is not known
    /// what was done.
    async fn change<R: Request + Send>(&self, request: R) -> Result<R::Reply, ServiceError> {
        let replied = self.workplace()?.link.ask(request).await;
        replied.map_err(|error| self.lost.note(error))
    }
}

fn start_of(record: &CallRecord, of: &CallOf) -> Event {
    Event::ToolStarted {
        task: of.task.clone(),
        turn: of.turn,
        call_id: record.call.clone(),
        tool: record.tool.clone(),
        arguments: record.arguments.clone(),
        writes: record.writes.clone(),
        deletes: record.deletes.clone(),
        cache: record.cache.clone(),
        rule: record
            .decision
            .as_ref()
            .map_or_else(String::new, |decision| decision.rule().to_owned()),
    }
}

/// The journal slot reserved for the end of one call.
struct KeptSlot {
    link: WorkerLink,
    slot: CallSlot,
    lost: Lost,
    of: CallOf,
}

impl EndSlot for KeptSlot {
    fn finished(
        self: Box<Self>,
        end: ToolOutput,
    ) -> Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>> {
        let bytes = match bytes_of(&end) {
            Ok(bytes) => bytes,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let Self {
            link,
            slot,
            lost,
            of,
        } = *self;
        let durable = link.ask(EndCall {
            slot,
            end: Facts::naming(bytes, |result| finished(&end, of, result)),
        });
        Box::pin(async move { durable.await.map_err(|error| lost.note(error)) })
    }
}

/// Serializes the end of a call.
fn bytes_of(end: &ToolOutput) -> Result<Vec<u8>, ServiceError> {
    value_bytes(end, "tool result").map_err(|error| service_error(&error))
}

#[async_trait]
impl ArtifactStore for AgentServices {
    async fn put(&self, bytes: Vec<u8>, file: Option<String>) -> Result<Artifact, ServiceError> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let blob = BlobId::from_content(&bytes);
        let facts = Facts {
            events: Vec::new(),
            blobs: vec![bytes.into()],
        };
        self.ask(Record { facts }).await?;
        let mut artifacts = self.artifacts.lock();
        let artifact = Artifact {
            handle: format!("a{}", artifacts.len() + 1),
            blob,
            bytes: size,
            file,
        };
        artifacts.push(artifact.clone());
        Ok(artifact)
    }

    fn file_of(&self, handle: &str) -> Option<String> {
        self.artifact(handle)?.file
    }

    async fn page(&self, handle: &str, range: PageRange) -> Result<ArtifactPage, ServiceError> {
        let Some(Artifact { blob, .. }) = self.artifact(handle) else {
            return Err(ServiceError::Invalid(format!(
                "this agent has no artifact '{handle}'"
            )));
        };
        let ids = vec![blob.clone()];
        let blobs = self.ask(ReadBlobs { ids }).await?;
        let bytes = blobs
            .get(&blob)
            .map_err(|error| ServiceError::Failed(error.to_string()))?;
        Ok(ArtifactPage::extract(bytes, range))
    }
}
