//! The error of a run whose base does not pass its check: no agent was started.

use orchestrate_core::checks::hint::{SOCKET_REFUSED, shows_refused_socket};
use orchestrate_core::event::RunStatus;
use orchestrate_core::{Oid, RunState, check_hint, failing_lines};
use orchestrate_journal::Store;
use orchestrate_sandbox::Confinement;

use crate::error::{BaseFailure, CoordinatorError};

/// Returns the error of a run whose base does not pass its check, or `None` for any other run.
pub(crate) fn refusal(
    state: &RunState,
    store: &Store,
    confinement: Confinement,
) -> Result<Option<CoordinatorError>, CoordinatorError> {
    let Some(red) = state
        .red_base()
        .filter(|_| state.status == RunStatus::Failed)
    else {
        return Ok(None);
    };
    let output = match &red.output {
        Some(output) => String::from_utf8_lossy(&store.blob(output)?).into_owned(),
        None => String::new(),
    };
    let failure = BaseFailure {
        run: state.run_id.clone(),
        base: short(&state.base),
        command: red.command.clone(),
        exit: red.exit.clone(),
        lines: failing_lines(&output),
        fix: check_hint(&output).or_else(|| of_tier(&output, confinement)),
    };
    Ok(Some(CoordinatorError::RedBase(Box::new(failure))))
}

/// Returns the hint for a base that failed only because of the tier of the sandbox.
fn of_tier(output: &str, confinement: Confinement) -> Option<&'static str> {
    let is_of_tier = confinement == Confinement::Fallback && shows_refused_socket(output);
    is_of_tier.then_some(SOCKET_REFUSED)
}

/// Returns the first digits of a commit's id, enough to type.
fn short(commit: &Oid) -> String {
    commit.as_str().chars().take(8).collect()
}
