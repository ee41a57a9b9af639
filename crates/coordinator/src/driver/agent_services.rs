//! What one agent's tools reach beyond its worktree: its branch, the other agents, the journal.
//!
//! Every value here belongs to one agent, so no tool can speak for another.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::message::{Envelope, Sender};
use orchestrate_core::run_state::MessageRefused;
use orchestrate_git::Identity;
use orchestrate_journal::{Batch, Blob, JournalError, Slot};
use orchestrate_tools::{
    AgentService, Artifact, ArtifactPage, ArtifactStore, CallEnd, CallRecord, CallRecorder, EndSlot, ErrorKind,
    GitChange, GitCommit, GitService, GitStatus, OutgoingMessage, PageRange, ServiceError, Services, redact_text,
};
use serde_json::Value;

use crate::committing;
use crate::error::CoordinatorError;
use crate::run_context::value_blob;
use crate::workplace::Workplace;

/// One agent's desk: everything that its tools reach.
pub(super) struct AgentDesk {
    workplace: Workplace,
    artifacts: Mutex<Vec<Artifact>>,
    lost: Lost,
}

impl AgentDesk {
    pub(super) fn new(workplace: &Workplace, artifacts: Vec<Artifact>) -> Arc<Self> {
        Arc::new(Self { workplace: workplace.clone(), artifacts: Mutex::new(artifacts), lost: Lost::default() })
    }

    /// Gives why the start or the end of a call could not be recorded, if one could not.
    ///
    /// The agent must not go on then: a reply to a result that is not recorded could never be replayed.
    pub(super) fn lost(&self) -> Option<JournalError> {
        self.lost.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The first failure to record a call's start or end.
#[derive(Clone, Default)]
struct Lost(Arc<Mutex<Option<JournalError>>>);

impl Lost {
    /// Notes the failure for the driver, and words it for the tool.
    fn note(&self, error: JournalError) -> ServiceError {
        let told = journal_error(&error);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        told
    }
}

/// Gives the services of an agent's calls.
pub(super) fn services(desk: &Arc<AgentDesk>) -> Services {
    Services {
        git: Arc::clone(desk) as Arc<dyn GitService>,
        agents: Arc::clone(desk) as Arc<dyn AgentService>,
        recorder: Arc::clone(desk) as Arc<dyn CallRecorder>,
        artifacts: Arc::clone(desk) as Arc<dyn ArtifactStore>,
    }
}

fn service_error(error: CoordinatorError) -> ServiceError {
    match error {
        CoordinatorError::Journal(error) => journal_error(&error),
        other => ServiceError::Failed(other.to_string()),
    }
}

fn journal_error(error: &JournalError) -> ServiceError {
    ServiceError::Failed(error.to_string())
}

#[async_trait]
impl GitService for AgentDesk {
    async fn status(&self) -> Result<GitStatus, ServiceError> {
        let (context, worktree) = (&self.workplace.context, self.workplace.worktree.clone());
        let found = context.git(move |repo| repo.status(&worktree)).await.map_err(service_error)?;
        let record = context.task(&self.workplace.task).map_err(service_error)?;
        let changes = found
            .into_iter()
            .map(|change| GitChange { status: change.status.letter(), path: change.path.display().to_string() });
        Ok(GitStatus { branch: record.branch.unwrap_or_default(), head: record.tip, changes: changes.collect() })
    }

    async fn diff(&self, staged: bool) -> Result<String, ServiceError> {
        let (context, worktree) = (&self.workplace.context, self.workplace.worktree.clone());
        let record = context.task(&self.workplace.task).map_err(service_error)?;
        let (Some(base), Some(tip)) = (record.base, record.tip) else { return Ok(String::new()) };
        let text = context.git(move |repo| {
            if staged {
                repo.diff_text(&base, &tip)
            } else {
                let tree = repo.current_tree(&worktree)?;
                repo.diff_text(&tip, &tree)
            }
        });
        text.await.map_err(service_error)
    }

    async fn log(&self, limit: usize) -> Result<Vec<GitCommit>, ServiceError> {
        let context = &self.workplace.context;
        let record = context.task(&self.workplace.task).map_err(service_error)?;
        let Some(tip) = record.tip else { return Ok(Vec::new()) };
        let commits = context.git(move |repo| repo.log(&tip, limit)).await.map_err(service_error)?;
        let commit = |found: orchestrate_git::CommitInfo| GitCommit {
            id: found.id,
            message: found.message,
            author: format!("{} <{}>", found.author.name, found.author.email),
            time: found.time_unix,
        };
        Ok(commits.into_iter().map(commit).collect())
    }

    async fn commit(&self, message: &str) -> Result<GitCommit, ServiceError> {
        let made = committing::commit_worktree(&self.workplace, message).await.map_err(service_error)?;
        let Some(made) = made else {
            return Err(ServiceError::Invalid("there is nothing to commit: the worktree is as committed".to_owned()));
        };
        let Identity { name, email } = &self.workplace.context.identity;
        let author = format!("{name} <{email}>");
        Ok(GitCommit { id: made.commit, message: message.to_owned(), author, time: made.time })
    }
}

#[async_trait]
impl AgentService for AgentDesk {
    async fn send_message(&self, message: OutgoingMessage) -> Result<u64, ServiceError> {
        let from = Sender::Agent(self.workplace.task.clone());
        let now = self.workplace.context.state().updated_ms;
        let deadline = message.deadline_seconds.map(|seconds| now.saturating_add(seconds.saturating_mul(1000)));
        let sent = self.workplace.context.journal.append_if(move |state| {
            state.check_message(message.to.as_str(), &message.body)?;
            let sequence = state.next_sequence(&from);
            let envelope = Envelope { sequence, from, to: message.to, body: message.body, deadline };
            Ok::<_, MessageRefused>(Batch::from(Event::MessageSent { envelope }))
        });
        let state_after = match sent.await.map_err(|error| journal_error(&error))? {
            Ok(_) => self.workplace.context.state(),
            Err(refused) => return Err(ServiceError::Invalid(refused.to_string())),
        };
        Ok(state_after.next_sequence(&Sender::Agent(self.workplace.task.clone())).saturating_sub(1))
    }
}

#[async_trait]
impl CallRecorder for AgentDesk {
    async fn started(&self, record: &CallRecord) -> Result<Box<dyn EndSlot>, ServiceError> {
        let context = &self.workplace.context;
        // The slot first: an end must be recordable whatever happens after the start.
        let slot = context.journal.reserve().await.map_err(|error| self.lost.note(error))?;
        context.journal.append(self.start_of(record)).await.map_err(|error| self.lost.note(error))?;
        let (task, turn) = (self.workplace.task.clone(), self.turn());
        Ok(Box::new(JournalSlot { slot, lost: self.lost.clone(), tool: record.tool.clone(), task, turn }))
    }

    async fn refused(&self, record: &CallRecord, end: CallEnd) -> Result<(), ServiceError> {
        let (finished, blob) = end_of(&record.tool, &self.workplace.task, self.turn(), &end)?;
        let batch = Batch::from(vec![self.start_of(record), finished]).with_blob(blob);
        self.workplace.context.journal.append(batch).await.map_err(|error| self.lost.note(error))?;
        Ok(())
    }
}

impl AgentDesk {
    fn turn(&self) -> u32 {
        self.workplace.context.state().task(&self.workplace.task).map_or(0, |record| record.turns)
    }

    fn start_of(&self, record: &CallRecord) -> Event {
        Event::ToolStarted {
            task: self.workplace.task.clone(),
            turn: self.turn(),
            call_id: record.call.clone(),
            tool: record.tool.clone(),
            arguments: redacted(&record.arguments),
            rule: record.decision.as_ref().map_or_else(String::new, |decision| decision.rule().to_owned()),
        }
    }
}

/// Gives the arguments with everything in their texts that looks like a secret blotted out.
fn redacted(arguments: &Value) -> Value {
    match arguments {
        Value::String(text) => Value::String(redact_text(text)),
        Value::Array(items) => items.iter().map(redacted).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), redacted(value))).collect(),
        other => other.clone(),
    }
}

/// The reserved place of one call's end in the journal.
struct JournalSlot {
    slot: Slot,
    lost: Lost,
    tool: String,
    task: orchestrate_core::TaskId,
    turn: u32,
}

impl EndSlot for JournalSlot {
    fn finished(self: Box<Self>, end: CallEnd) -> Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>> {
        let (finished, blob) = match end_of(&self.tool, &self.task, self.turn, &end) {
            Ok(made) => made,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let (durable, lost) = (self.slot.append(Batch::from(finished).with_blob(blob)), self.lost);
        Box::pin(async move { durable.await.map(|_| ()).map_err(|error| lost.note(error)) })
    }
}

/// Makes the fact of a call's end, and the blob that it names.
fn end_of(
    tool: &str,
    task: &orchestrate_core::TaskId,
    turn: u32,
    end: &CallEnd,
) -> Result<(Event, Blob), ServiceError> {
    let blob = value_blob(end, "tool result").map_err(service_error)?;
    let outcome = match end.error_kind {
        _ if end.success => ToolOutcome::Ok,
        Some(ErrorKind::Denied) => ToolOutcome::Denied,
        Some(ErrorKind::Timeout) => ToolOutcome::TimedOut,
        Some(ErrorKind::Interrupted) => ToolOutcome::Interrupted,
        _ => ToolOutcome::Failed,
    };
    let finished = Event::ToolFinished {
        task: task.clone(),
        turn,
        call_id: end.call.clone(),
        tool: tool.to_owned(),
        outcome,
        result: blob.id().clone(),
        duration_ms: end.duration_ms,
        deleted: end.deleted.clone(),
    };
    Ok((finished, blob))
}

#[async_trait]
impl ArtifactStore for AgentDesk {
    async fn put(&self, bytes: Vec<u8>) -> Result<Artifact, ServiceError> {
        let blob = Blob::new(bytes);
        let (id, size) = (blob.id().clone(), u64::try_from(blob.bytes().len()).unwrap_or(u64::MAX));
        self.workplace
            .context
            .journal
            .append(Batch::default().with_blob(blob))
            .await
            .map_err(|error| journal_error(&error))?;
        let mut artifacts = self.artifacts.lock().unwrap_or_else(PoisonError::into_inner);
        let artifact = Artifact { handle: format!("a{}", artifacts.len() + 1), blob: id, bytes: size };
        artifacts.push(artifact.clone());
        Ok(artifact)
    }

    async fn page(&self, handle: &str, range: PageRange) -> Result<ArtifactPage, ServiceError> {
        let blob = {
            let artifacts = self.artifacts.lock().unwrap_or_else(PoisonError::into_inner);
            artifacts.iter().find(|artifact| artifact.handle == handle).map(|artifact| artifact.blob.clone())
        };
        let Some(blob) = blob else {
            return Err(ServiceError::Invalid(format!("there is no artifact '{handle}' of this agent")));
        };
        let bytes = self.workplace.context.store.blob(&blob).map_err(|error| journal_error(&error))?;
        Ok(ArtifactPage::of(&bytes, range))
    }
}
