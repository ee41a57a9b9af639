//! Finds open tasks that a run would never start, since a dependency is cancelled, blocked or never
//! started itself.

use std::collections::HashMap;

use crate::finding::{Finding, FindingCode, MAX_FINDINGS};
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::schedule::{Progress, Schedule};
use orchestrate_core::task::{Task, TaskStatus};

/// Returns a finding for each open task that would never start, naming its dependency; empty if the
/// tasks have no order.
pub(crate) fn never_started(tasks: &[Task]) -> Vec<Finding> {
    // Only a task that is neither run nor done keeps others from starting.
    if tasks
        .iter()
        .all(|task| task.status.runs() || task.status == TaskStatus::Done)
    {
        return Vec::new();
    }
    let Ok(schedule) = Schedule::new(tasks) else {
        return Vec::new();
    };
    let by_id: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    let begins = |id: &TaskId| {
        by_id
            .get(id)
            .map_or(Progress::Waiting, |task| Progress::of_box(task.status))
    };
    let skipped = schedule.skipped(begins);
    let found = skipped
        .iter()
        .filter_map(|(task, on)| Some(finding(by_id.get(task)?, by_id.get(on)?)));
    found.take(MAX_FINDINGS).collect()
}

fn finding(task: &Task, on: &Task) -> Finding {
    let (state, suggestion) = match on.status {
        TaskStatus::Cancelled => (
            "is marked as cancelled",
            Some(format!("mark {} as open or done", on.id)),
        ),
        // A task does not say which; neither is for an agent to end.
        TaskStatus::Blocked => (
            "is blocked or the work of a person",
            Some(format!("mark {} as done once it is", on.id)),
        ),
        _ => ("will not run either", None),
    };
    Finding {
        line: task.line,
        column: 1,
        code: FindingCode::NeverMerged,
        message: format!(
            "{} will not run: it depends on {}, which {state}",
            task.id, on.id
        ),
        text: String::new(),
        suggestion,
    }
}
