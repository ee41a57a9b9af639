//! The data shared by all parts of the coordinator that work on one run: the journal, the texts,
//! the host.
//!
//! It holds handles only; the run's state is in the journal. Workers reach it only through their
//! links. Git is blocking, so every operation runs inside `spawn_blocking`, as do reads of more
//! than one blob from the journal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use orchestrate_checks::blocking;
use orchestrate_core::collections::Mutex;
use orchestrate_core::messages::{MessageRefused, Origin, Outgoing};
use orchestrate_core::run::{Receipt, Routed};
use orchestrate_core::{AgentSpec, BlobId, Event, RunId, RunState, TaskId, TaskRecord};
use orchestrate_git::{GitError, Repo};
use orchestrate_journal::{Appended, Batch, Blob, Journal, JournalError, Store};
use orchestrate_plan::Rewritten;
use orchestrate_sandbox::Cancel;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use crate::error::CoordinatorError;
use crate::ruling::Ruling;
use crate::run::machine::host::Host;
use crate::run::program::approver::Approver;
use crate::run::program::live::{LiveItem, LiveItems};
use crate::run::tool_lists::ToolLists;
use crate::texts::prompts::Prompts;
use crate::texts::roles::Roles;
use crate::texts::skills::Skills;

/// The shared context of one run.
pub(crate) struct RunContext {
    pub(crate) run: RunId,
    pub(crate) journal: Journal,
    /// The number of the last event that is not of this process; 0 if it has begun the run.
    pub(crate) begun_after: u64,
    pub(crate) store: Store,
    /// Kills the run's git processes.
    pub(crate) cancel: Cancel,
    /// The audit log of its tool calls.
    pub(crate) audit_log: PathBuf,
    /// Called with what the user has to know although the run goes on.
    pub(crate) warn: fn(&str),
    /// Decides about calls instead of a person.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) roles: Roles,
    pub(crate) prompts: Prompts,
    pub(crate) skills: Skills,
    pub(crate) live: LiveItems,
    /// The error for which the coordinator could not continue, in words.
    pub(crate) stopped_by: Arc<OnceLock<String>>,
    /// The disk space of agents that are about to start.
    pub(crate) admitted: Admitted,
    /// The tools of its agents.
    pub(crate) tool_lists: ToolLists,
    /// The machine where workers run: this one.
    pub(crate) host: Arc<Host>,
}

impl RunContext {
    /// Tells the followers of the run of something that is not recorded.
    pub(crate) fn tell(&self, item: LiveItem) {
        self.live.tell(self.state().seq, item);
    }

    /// Returns the newest state.
    pub(crate) fn state(&self) -> Arc<RunState> {
        self.journal.state()
    }

    /// Returns a copy of a task's record.
    pub(crate) fn task(&self, id: &TaskId) -> Result<TaskRecord, CoordinatorError> {
        let unknown = || CoordinatorError::UnknownTask {
            run: self.run.clone(),
            task: id.clone(),
        };
        self.state().task(id).cloned().ok_or_else(unknown)
    }

    /// Records events; returns when they are durable.
    pub(crate) async fn record(&self, events: Vec<Event>) -> Result<(), CoordinatorError> {
        self.journal.append(events).await?;
        Ok(())
    }

    /// Records events together with the bytes that they name.
    pub(crate) async fn record_with<F: Into<Batch>>(
        &self,
        bytes: Vec<u8>,
        facts: impl FnOnce(BlobId) -> F,
    ) -> Result<(), CoordinatorError> {
        let blob = Blob::new(bytes);
        let batch: Batch = facts(blob.id().clone()).into();
        self.journal.append(batch.with_blob(blob)).await?;
        Ok(())
    }

    /// Records what `decide` returns for the newest state, inside the sequencer; returns when it is
    /// durable.
    pub(crate) async fn decide(
        &self,
        decision: impl FnOnce(&RunState) -> Batch + Send + 'static,
    ) -> Result<(), CoordinatorError> {
        let decided = |state: &RunState| Ok::<_, std::convert::Infallible>(decision(state));
        self.journal.append_if(decided).await?.never_refused();
        Ok(())
    }

    /// Sends a message and returns who gets it, unless it is refused; `None` if the call that sends
    /// it waits.
    pub(crate) async fn send(
        &self,
        origin: Origin,
        outgoing: Outgoing,
    ) -> Result<Ruling<Option<Receipt>, MessageRefused>, CoordinatorError> {
        self.decide_and_tell(move |state| {
            let Routed {
                events,
                receipt,
                waits,
            } = state.decide_message(&origin, &outgoing)?;
            Ok((Batch::from(events), (!waits).then_some(receipt)))
        })
        .await
    }

    /// Records what `decide` returns for the newest state, inside the sequencer, and returns the
    /// value beside it once that is durable.
    pub(crate) async fn decide_and_tell<T: Send + 'static, E: Send + 'static>(
        &self,
        decide: impl FnOnce(&RunState) -> Result<(Batch, T), E> + Send + 'static,
    ) -> Result<Ruling<T, E>, CoordinatorError> {
        // The decision passes the value on: the state may be another one by the time that it is
        // durable.
        let (tell, told) = oneshot::channel();
        let recorded = self.journal.append_if(move |state| {
            let (batch, value) = decide(state)?;
            // Fails if the caller no longer waits; the events are recorded nevertheless.
            let _ = tell.send(value);
            Ok(batch)
        });
        match recorded.await? {
            Appended::Recorded(_) => told
                .await
                .map(Ruling::Granted)
                .map_err(|_| CoordinatorError::Ended(self.run.clone())),
            Appended::Refused(refused) => Ok(Ruling::Refused(refused)),
        }
    }

    /// Reads a blob as text.
    pub(crate) async fn blob_text(&self, id: BlobId) -> Result<String, CoordinatorError> {
        let bytes = self.read(move |store| store.blob(&id)).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the text of the plan that the run carries out, or of the document that it rewrites
    /// as one; `None` if it has none.
    pub(crate) async fn plan_text(&self) -> Result<Option<String>, CoordinatorError> {
        let state = self.state();
        let Some(source) = state.plan_source.clone() else {
            return Ok(None);
        };
        let text = self.blob_text(source).await?;
        let Some(rewritten) = state.settings.plan_rewritten.clone() else {
            return Ok(Some(text));
        };
        let answer = self.blob_text(rewritten).await?;
        Ok(Some(Rewritten::from_answer(&answer, Some(&text)).plan))
    }

    /// Reads a recorded value from a blob.
    pub(crate) fn blob_value<T: DeserializeOwned>(
        &self,
        id: &BlobId,
        what: &'static str,
    ) -> Result<T, CoordinatorError> {
        serde_json::from_slice(&self.store.blob(id)?)
            .map_err(|source| CoordinatorError::Recorded { what, source })
    }

    /// Reads the recorded specification of an agent, whose tools it shares with other agents.
    pub(crate) fn agent_spec(&self, id: &BlobId) -> Result<AgentSpec, CoordinatorError> {
        let mut spec: AgentSpec = self.blob_value(id, "agent")?;
        spec.tools = self.tool_lists.shared(spec.tools);
        Ok(spec)
    }

    /// Runs one git operation on a blocking thread.
    pub(crate) async fn git<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Repo) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, CoordinatorError> {
        self.host.git(operation).await
    }

    /// Reads events or blobs on a blocking thread.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Store) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, CoordinatorError> {
        let store = self.store.clone();
        blocking("a reader of the journal", move || Ok(look(&store)?)).await
    }
}

/// The bytes that agents will take which were admitted and whose worktrees are not prepared yet.
#[derive(Debug, Default)]
pub(crate) struct Admitted(Mutex<BTreeMap<TaskId, u64>>);

impl Admitted {
    /// Admits a task to this much of the free space, or returns what there is for it.
    pub(crate) fn admit(
        &self,
        state: &RunState,
        task: &TaskId,
        needed: u64,
        free: u64,
    ) -> Result<(), u64> {
        let mut admitted = self.0.lock();
        let is_about_to_take = |of: &TaskId| {
            state
                .task(of)
                .is_some_and(|record| record.state().is_workable() && !record.is_prepared())
        };
        admitted.retain(|of, _| of != task && is_about_to_take(of));
        let room = free.saturating_sub(admitted.values().sum());
        if needed > room {
            return Err(room);
        }
        admitted.insert(task.clone(), needed);
        Ok(())
    }
}
