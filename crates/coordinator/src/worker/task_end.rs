//! Ends tasks that do not succeed, after their worktrees are stored.
//!
//! What is wrong with finished work is judged in `orchestrate_core` (`task_failure.rs`); the other causes are
//! reported by the drivers of agents and commands, and by the dispatcher.

use orchestrate_core::event::{Event, FailureCause};
use orchestrate_core::{ReportGiven, RunState, TaskId, TaskRecord};
use orchestrate_journal::Batch;

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::worktree::{compare, worktrees};

/// How a task fails.
pub(crate) struct Failure {
    pub(crate) cause: FailureCause,
    pub(crate) message: String,
    /// The last report of an agent that has reached a limit.
    pub(crate) report: Option<String>,
}

/// Fails a worker's task, unless its work has been handed over meanwhile.
pub(crate) async fn fail(context: &RunContext, task: &TaskId, failure: Failure) -> Result<(), CoordinatorError> {
    end(context, task, failure, |_, record| record.state().is_workable()).await
}

/// Fails a task for which the run has no time left; no worker is active any more.
pub(crate) async fn time_out(context: &RunContext, task: &TaskId, message: String) -> Result<(), CoordinatorError> {
    let failure = Failure { cause: FailureCause::Timeout, message, report: None };
    end(context, task, failure, RunState::can_go_on).await
}

/// Ends a task that may still fail; its worktree is stored first.
async fn end(
    context: &RunContext,
    task: &TaskId,
    Failure { cause, message, report }: Failure,
    may_end: fn(&RunState, &TaskRecord) -> bool,
) -> Result<(), CoordinatorError> {
    if !may_end(&context.state(), &context.task(task)?) {
        return Ok(());
    }
    if let Err(error) = keep_and_compare(context, task).await {
        // The worktree itself is never removed without a snapshot, so nothing is lost; the task still fails.
        tracing::warn!(%task, %error, "could not snapshot the worktree of a task that failed");
    }
    let task = task.clone();
    let failed = move |state: &RunState| {
        let record = state.task(&task).filter(|record| may_end(state, record));
        let cause = record.map(|record| record.failure_cause(cause, state.settings.ask_parks));
        let cut = record.and_then(TaskRecord::cut);
        let given = report.filter(|_| record.is_some_and(|record| record.reached_limit().is_some()));
        let given = given.map(|summary| Event::ReportGiven(ReportGiven { task: task.clone(), summary }));
        let fact = cause.map(|cause| Event::TaskFailed { task, cause, message });
        Batch::from(cut.into_iter().chain(given).chain(fact).collect::<Vec<_>>())
    };
    context.decide(failed).await
}

/// Stores the worktree of a task, and records what its work changes.
async fn keep_and_compare(context: &RunContext, task: &TaskId) -> Result<(), CoordinatorError> {
    let kept = worktrees::keep(context, task).await?;
    let record = context.task(task)?;
    match kept.or_else(|| record.tip().cloned()) {
        Some(work) if !record.is_command() => compare::record_changes(context, &record, work).await,
        _ => Ok(()),
    }
}

/// Cancels a task that is to be stopped, and that no worker works on; its worktree is stored first.
pub(crate) async fn call_off(context: &RunContext, task: TaskId) -> Result<(), CoordinatorError> {
    if context.state().decide_cancellation(&task).is_empty() {
        return Ok(());
    }
    if let Err(error) = keep_and_compare(context, &task).await {
        // The worktree itself is never removed without a snapshot, so nothing is lost.
        tracing::warn!(%task, %error, "could not snapshot the worktree of a task that was stopped");
    }
    context.decide(move |state| Batch::from(state.decide_cancellation(&task))).await
}

/// Describes how often work was returned to its agent, or its command rerun; empty if it never was.
pub(crate) fn after_rounds(record: &TaskRecord) -> String {
    match record.rounds() {
        0 => String::new(),
        _ if record.is_command() => {
            ", again after its command was rerun on the newer result; it has no agent to fix it".to_owned()
        }
        1 => ", again after it was returned to its agent once".to_owned(),
        rounds => format!(", again after it was returned to its agent {rounds} times"),
    }
}
