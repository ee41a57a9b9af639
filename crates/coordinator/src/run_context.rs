//! What everything that works on one run shares: the journal, the sandbox, the executor, the models.
//!
//! It holds handles only; the run's state is the journal's. Git is blocking, so every operation runs inside
//! `spawn_blocking`.

use std::sync::Arc;

use orchestrate_core::{BlobId, Event, RunId, RunState, TaskId, TaskRecord};
use orchestrate_git::{GitError, Identity, Repo};
use orchestrate_journal::{Blob, Journal, Store};
use orchestrate_model::LazyCounter;
use orchestrate_sandbox::Sandbox;
use orchestrate_tools::Executor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CoordinatorError;
use crate::layout::Layout;
use crate::models::Models;
use crate::prompts::Prompts;
use crate::roles::Roles;

/// What everything that works on one run shares.
pub(crate) struct RunContext {
    pub(crate) run: RunId,
    pub(crate) journal: Journal,
    pub(crate) store: Store,
    pub(crate) repo: Repo,
    pub(crate) layout: Layout,
    pub(crate) identity: Identity,
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) models: Models,
    pub(crate) roles: Roles,
    pub(crate) prompts: Prompts,
    pub(crate) counter: LazyCounter,
}

impl RunContext {
    /// Gives the newest state.
    pub(crate) fn state(&self) -> Arc<RunState> {
        self.journal.state()
    }

    /// Gives a copy of a task's record.
    pub(crate) fn task(&self, id: &TaskId) -> Result<TaskRecord, CoordinatorError> {
        let unknown = || CoordinatorError::UnknownTask { run: self.run.clone(), task: id.clone() };
        self.state().task(id).cloned().ok_or_else(unknown)
    }

    /// Records facts; returns when they are durable.
    pub(crate) async fn record(&self, events: Vec<Event>) -> Result<(), CoordinatorError> {
        self.journal.append(events).await?;
        Ok(())
    }

    /// Records one fact that names one blob.
    pub(crate) async fn record_with(
        &self,
        blob: Blob,
        event: impl FnOnce(BlobId) -> Event,
    ) -> Result<(), CoordinatorError> {
        let event = event(blob.id().clone());
        self.journal.append_with_blobs(vec![event], vec![blob]).await?;
        Ok(())
    }

    /// Reads a blob as text.
    pub(crate) fn blob_text(&self, id: &BlobId) -> Result<String, CoordinatorError> {
        Ok(String::from_utf8_lossy(&self.store.blob(id)?).into_owned())
    }

    /// Reads a blob that holds a recorded value.
    pub(crate) fn blob_value<T: DeserializeOwned>(
        &self,
        id: &BlobId,
        what: &'static str,
    ) -> Result<T, CoordinatorError> {
        serde_json::from_slice(&self.store.blob(id)?).map_err(|source| CoordinatorError::Recorded { what, source })
    }

    /// Runs one git operation on a thread that may block.
    pub(crate) async fn git<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Repo) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, CoordinatorError> {
        let repo = self.repo.clone();
        let done = tokio::task::spawn_blocking(move || operation(&repo)).await;
        match done {
            Ok(result) => Ok(result?),
            Err(_) => Err(CoordinatorError::Panicked { what: "a git operation" }),
        }
    }
}

/// Makes the blob of a value, for a fact to name.
pub(crate) fn value_blob<T: Serialize>(value: &T, what: &'static str) -> Result<Blob, CoordinatorError> {
    let bytes = serde_json::to_vec(value).map_err(|source| CoordinatorError::Recorded { what, source })?;
    Ok(Blob::new(bytes))
}
