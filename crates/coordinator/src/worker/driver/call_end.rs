//! The event of a call's end, the same for every driver.

use orchestrate_core::event::{ErrorKind, Event, ToolOutcome};
use orchestrate_core::text::{in_one_line, shortened};
use orchestrate_core::{BlobId, TaskId};
use orchestrate_tools::ToolOutput;

/// The maximum length of the error in the event itself; the result that it names contains the
/// whole.
const MAX_ERROR_CHARS: usize = 500;

/// The call that ended.
pub(super) struct CallOf {
    pub(super) task: TaskId,
    pub(super) turn: u32,
    /// The tool's canonical name, or the name used by the model.
    pub(super) tool: String,
}

/// Returns the event of a call's end; `result` is the blob that holds it.
pub(super) fn finished(end: &ToolOutput, of: CallOf, result: BlobId) -> Event {
    let CallOf { task, turn, tool } = of;
    Event::ToolFinished {
        task,
        turn,
        call_id: end.call.clone(),
        tool,
        outcome: outcome(end),
        error_class: end.error_kind,
        denied_by: end.denied_by.clone(),
        error: end
            .error
            .as_deref()
            .filter(|_| !end.success)
            .map(|error| shortened(&in_one_line(error), MAX_ERROR_CHARS)),
        exit_code: end.exit_code,
        result,
        duration_ms: u64::try_from(end.execution_time.as_millis()).unwrap_or(u64::MAX),
        resource_usage: end.resource_usage,
        deleted: end.deleted.clone(),
        recovered: end.recovered.clone(),
    }
}

fn outcome(end: &ToolOutput) -> ToolOutcome {
    match end.error_kind {
        _ if end.success => ToolOutcome::Ok,
        Some(ErrorKind::Denied) => ToolOutcome::Denied,
        Some(ErrorKind::Timeout) => ToolOutcome::TimedOut,
        Some(ErrorKind::Interrupted) => ToolOutcome::Interrupted,
        _ => ToolOutcome::Failed,
    }
}
