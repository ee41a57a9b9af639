//! How to go on after a refused request: what to type next, once for text and JSON.

use orchestrate_core::{RequestRefused, RunId, TaskState};

/// Returns the hint to a refusal.
pub(crate) fn next_step(run: &RunId, refused: &RequestRefused) -> String {
    match refused {
        RequestRefused::Changed { task } => {
            format!("look again with `orchestrate review {task} --run {run}`")
        }
        RequestRefused::BeingMerged { .. } => unattended(run),
        RequestRefused::NothingToReturn { task, state } => match state {
            TaskState::Merged | TaskState::AwaitingReview | TaskState::Verified => {
                format!("`orchestrate reject {task} -m TEXT --run {run}` sends its work back")
            }
            TaskState::Failed | TaskState::Conflicted | TaskState::Cancelled => {
                format!("`orchestrate retry {task} --run {run}` lets it try again")
            }
            TaskState::Skipped => "retry what it depends on, which lets it wait again".to_owned(),
            _ => unattended(run),
        },
        RequestRefused::OutOfTime { .. } => {
            format!("`orchestrate resume {run} --timeout TIME` gives it more, and lets what it stopped go on")
        }
        RequestRefused::StillOutOfTime { more_tokens, .. } => {
            let tokens = if *more_tokens { " --budget-tokens N" } else { "" };
            format!("`orchestrate resume {run}{tokens} --timeout TIME` gives it more")
        }
        _ => format!("`orchestrate status {run}` shows how it stands"),
    }
}

fn unattended(run: &RunId) -> String {
    format!("`orchestrate resume {run}` goes on with a run that nobody works on")
}
