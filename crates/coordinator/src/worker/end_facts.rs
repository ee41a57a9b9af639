//! Records the ends of tasks that do not succeed, whose worktrees are stored.
//!
//! What is wrong with finished work is judged in `orchestrate_core` (`task_failure.rs`); the other
//! causes are reported by the drivers of agents and commands, and by the dispatcher.

use orchestrate_core::event::Event;
use orchestrate_core::{ReportGiven, RunState, TaskId, TaskRecord};
use orchestrate_journal::Batch;

use crate::error::CoordinatorError;
use crate::link::requests::Failure;
use crate::run::context::RunContext;

/// Records the failure of a worker's task, unless its work has been handed over meanwhile.
pub(crate) async fn fail_worked(
    context: &RunContext,
    task: &TaskId,
    failure: Failure,
) -> Result<(), CoordinatorError> {
    fail(context, task, failure, |_, record| {
        record.state().is_workable()
    })
    .await
}

/// Records the failure of a task that may still fail.
pub(super) async fn fail(
    context: &RunContext,
    task: &TaskId,
    Failure {
        cause,
        message,
        report,
    }: Failure,
    may_end: fn(&RunState, &TaskRecord) -> bool,
) -> Result<(), CoordinatorError> {
    let task = task.clone();
    let failed = move |state: &RunState| {
        let record = state.task(&task).filter(|record| may_end(state, record));
        let cause = record.map(|record| record.failure_cause(cause, state.settings.ask_parks));
        let cut = record.and_then(TaskRecord::cut);
        let given =
            report.filter(|_| record.is_some_and(|record| record.reached_limit().is_some()));
        let given = given.map(|summary| {
            Event::ReportGiven(ReportGiven {
                task: task.clone(),
                summary,
            })
        });
        let fact = cause.map(|cause| Event::TaskFailed {
            task,
            cause,
            message,
        });
        Batch::from(cut.into_iter().chain(given).chain(fact).collect::<Vec<_>>())
    };
    context.decide(failed).await
}
