//! How to go on after a refused request: what to type next, once for text and JSON.

use orchestrate_core::{Reopening, RequestRefused, RunId};

/// Returns the hint to a refusal.
pub(crate) fn next_step(run: &RunId, refused: &RequestRefused) -> String {
    match refused {
        RequestRefused::Changed { task } => {
            format!("look again with `orchestrate review {task} --run {run}`")
        }
        RequestRefused::BeingMerged { .. } => unattended(run),
        RequestRefused::NothingToReturn { task, state } => match state.reopening() {
            Reopening::Reject => {
                format!("`orchestrate reject {task} -m TEXT --run {run}` returns its work to its agent")
            }
            Reopening::Retry => {
                format!("`orchestrate retry {task} --run {run}` retries it")
            }
            Reopening::RetryDependency => "retry the task that it depends on; it then becomes pending again".to_owned(),
            Reopening::Resume => unattended(run),
        },
        RequestRefused::OutOfTime { .. } => {
            format!("`orchestrate resume {run} --timeout TIME` extends it and continues what it stopped")
        }
        RequestRefused::StillOutOfTime { more_tokens, .. } => {
            let tokens = if *more_tokens { " --budget-tokens N" } else { "" };
            format!("`orchestrate resume {run}{tokens} --timeout TIME` raises the limits")
        }
        _ => format!("`orchestrate status {run}` shows its state"),
    }
}

fn unattended(run: &RunId) -> String {
    format!("`orchestrate resume {run}` continues a run that no process works on")
}
