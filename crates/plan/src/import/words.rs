//! The words that trackers have for a status and for a priority.

use orchestrate_core::task::TaskStatus;

/// Returns the status that a word of any tracker means.
///
/// `deferred` and `review` wait for a person, as `blocked` does: such a task is not run, nor are
/// those that depend on it.
pub(crate) fn status(word: &str) -> Option<TaskStatus> {
    Some(
        match word.to_lowercase().replace(['-', ' '], "_").as_str() {
            "" | "open" | "pending" | "todo" | "to_do" | "not_started" | "ready" => {
                TaskStatus::Todo
            }
            "in_progress" | "started" | "hooked" => TaskStatus::InProgress,
            "done" | "completed" | "complete" | "closed" => TaskStatus::Done,
            "cancelled" | "canceled" => TaskStatus::Cancelled,
            "blocked" | "deferred" | "review" => TaskStatus::Blocked,
            _ => return None,
        },
    )
}

/// Returns the rank of a priority, lowest first: a number, `P1`, or a word.
pub(crate) fn rank(word: &str) -> Option<i64> {
    match word.trim().to_lowercase().as_str() {
        "critical" | "urgent" => Some(0),
        "high" => Some(1),
        "medium" | "normal" => Some(2),
        "low" => Some(3),
        number => number.strip_prefix('p').unwrap_or(number).parse().ok(),
    }
}
