//! Ends tasks that no worker works on any more, after their worktrees are stored.

use std::sync::Arc;

use orchestrate_core::task::FailureCause;
use orchestrate_core::{RunState, TaskId};
use orchestrate_journal::Batch;

use crate::error::CoordinatorError;
use crate::link::requests::Failure;
use crate::run::context::RunContext;
use crate::worker::link_server::LinkServer;
use crate::worker::{end_facts, failing};

/// Fails a task whose worker has ended, unless its work has been handed over.
pub(crate) async fn fail(
    context: &Arc<RunContext>,
    task: &TaskId,
    failure: Failure,
) -> Result<(), CoordinatorError> {
    let server = LinkServer::new(context, task);
    server.ended(failing::fail(&context.host, &server.link(), failure).await)
}

/// Fails a task for which the run has no time left.
pub(crate) async fn time_out(
    context: &Arc<RunContext>,
    task: &TaskId,
    message: String,
) -> Result<(), CoordinatorError> {
    if !context.state().can_go_on(&context.task(task)?) {
        return Ok(());
    }
    failing::store(&context.host, &LinkServer::new(context, task).link()).await;
    let failure = Failure {
        cause: FailureCause::Timeout,
        message,
        report: None,
    };
    end_facts::fail(context, task, failure, RunState::can_go_on).await
}

/// Cancels a task that is to be stopped.
pub(crate) async fn call_off(
    context: &Arc<RunContext>,
    task: TaskId,
) -> Result<(), CoordinatorError> {
    if context.state().decide_cancellation(&task).is_empty() {
        return Ok(());
    }
    failing::store(&context.host, &LinkServer::new(context, &task).link()).await;
    context
        .decide(move |state| Batch::from(state.decide_cancellation(&task)))
        .await
}
