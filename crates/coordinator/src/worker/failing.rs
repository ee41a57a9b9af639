//! Fails a worker's task, after its worktree is stored.

use std::sync::Arc;

use crate::error::CoordinatorError;
use crate::link::requests::{Fail, Failure};
use crate::link::worker_link::WorkerLink;
use crate::run::machine::host::Host;
use crate::worktree::workspace::Workspace;

/// Fails the task, unless its work has been handed over meanwhile.
pub(super) async fn fail(
    host: &Arc<Host>,
    link: &WorkerLink,
    failure: Failure,
) -> Result<(), CoordinatorError> {
    if !link.task().await?.state().is_workable() {
        return Ok(());
    }
    store(host, link).await;
    link.ask(Fail { failure }).await
}

/// Turns an error of this task alone into its failure; returns any other error, since the run
/// cannot continue.
pub(super) async fn contain(
    host: &Arc<Host>,
    link: &WorkerLink,
    error: CoordinatorError,
) -> Result<(), CoordinatorError> {
    match error.own_failure() {
        Some(cause) => {
            fail(
                host,
                link,
                Failure {
                    cause,
                    message: error.to_string(),
                    report: None,
                },
            )
            .await
        }
        None => Err(error),
    }
}

/// Stores the worktree of a task that ends.
pub(super) async fn store(host: &Arc<Host>, link: &WorkerLink) {
    if let Err(error) = Workspace::keep_and_compare(host, link).await {
        // The worktree itself is never removed without a snapshot, so nothing is lost; the task
        // still ends.
        tracing::warn!(task = %link.agent, %error,
            "could not snapshot the worktree of a task that did not succeed");
    }
}
