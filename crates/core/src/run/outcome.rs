//! How a run ends: its status, its exit code, and the answer to its goal.

use crate::event::RunStatus;
use crate::record::TaskRecord;
use crate::run::run_state::RunState;
use crate::task::{Severity, TaskState};

/// Exit code of a run whose every task is merged.
pub const EXIT_OK: u8 = 0;
/// Exit code of a run in which a task failed.
pub const EXIT_FAILED: u8 = 1;
/// Exit code of wrong usage, configuration or plan.
pub const EXIT_USAGE: u8 = 2;
/// Exit code of a run that waits for a person.
pub const EXIT_NEEDS_HUMAN: u8 = 3;
/// Exit code of a run in which a task reached a limit.
pub const EXIT_LIMIT: u8 = 4;
/// Exit code of a run in which a denied permission failed a task.
pub const EXIT_DENIED: u8 = 5;
/// Exit code of an internal error.
pub const EXIT_INTERNAL: u8 = 70;
/// Exit code after SIGINT, and of a stopped run.
pub const EXIT_INTERRUPTED: u8 = 130;
/// Exit code after SIGTERM.
pub const EXIT_TERMINATED: u8 = 143;

/// Returns how a run ends if nothing more can be done now, or `None` while something can.
///
/// Tasks with a live worker count as work to do, so this may be called only if there are none.
pub fn outcome(state: &RunState) -> Option<(RunStatus, u8)> {
    if state.red_base().is_some() {
        return Some((RunStatus::Failed, EXIT_USAGE));
    }
    let goes_on = state.stopping().next().is_some() || state.can_any_go_on();
    if goes_on || !state.due_facts().is_empty() {
        return None;
    }
    let worst = state.tasks().map(|record| severity(state, record)).max();
    Some(worst.map_or((RunStatus::Succeeded, EXIT_OK), Severity::outcome))
}

/// Reports whether something is left that a person can decide while the run goes on: a review, a
/// parked call, a question or a conflict. A key is mended elsewhere, and what is pending waits for
/// one of these.
pub(crate) fn waits_for_people(state: &RunState) -> bool {
    state.tasks().any(|record| {
        let is_first = record.state() != TaskState::Pending;
        is_first
            && record.rejecting_endpoint().is_none()
            && severity(state, record) == Severity::NeedsHuman
    })
}

/// Returns how a run ends if it was asked to stop with an exit code, which then takes precedence
/// over its outcome.
pub fn outcome_if_stopped(outcome: (RunStatus, u8), asked: Option<u8>) -> (RunStatus, u8) {
    asked.map_or(outcome, |exit_code| (RunStatus::Interrupted, exit_code))
}

/// Returns the status and exit code of a run that succeeded and could not be landed, from the exit
/// code of the landing.
pub fn outcome_if_not_landed(landing: u8) -> (RunStatus, u8) {
    match landing {
        // The obstacle appeared since the run started: the user did not type anything wrong.
        EXIT_USAGE | EXIT_NEEDS_HUMAN => (RunStatus::NeedsHuman, EXIT_NEEDS_HUMAN),
        EXIT_INTERRUPTED | EXIT_TERMINATED => (RunStatus::Interrupted, landing),
        _ => (RunStatus::Failed, landing),
    }
}

/// Returns what a task contributes. Rejected work that is part of the result is the user's to
/// decide about, since it would be refused to land it.
fn severity(state: &RunState, record: &TaskRecord) -> Severity {
    let is_undecided = record.is_rejected_in_result() && state.is_in_result(record);
    let least = if is_undecided {
        Severity::NeedsHuman
    } else {
        Severity::Fine
    };
    severity_of_state(state, record).max(least)
}

/// Returns what the state of a task contributes. An agent's child that did not succeed is a result
/// for its parent, which then succeeds or does not.
fn severity_of_state(state: &RunState, record: &TaskRecord) -> Severity {
    match record.state() {
        TaskState::Failed | TaskState::Conflicted if record.parent.is_some() => Severity::Fine,
        TaskState::Merged | TaskState::NothingToDo | TaskState::Skipped | TaskState::Cancelled => {
            Severity::Fine
        }
        TaskState::Verified if state.stays_unmerged(record) => Severity::Fine,
        TaskState::Failed => record
            .error()
            .map_or(Severity::Failed, |error| Severity::from_cause(error.cause)),
        _ => Severity::NeedsHuman,
    }
}

impl Severity {
    fn outcome(self) -> (RunStatus, u8) {
        match self {
            Severity::Fine => (RunStatus::Succeeded, EXIT_OK),
            Severity::NeedsHuman => (RunStatus::NeedsHuman, EXIT_NEEDS_HUMAN),
            Severity::Failed => (RunStatus::Failed, EXIT_FAILED),
            Severity::Limit => (RunStatus::Limit, EXIT_LIMIT),
            Severity::Denied => (RunStatus::Denied, EXIT_DENIED),
            Severity::Internal => (RunStatus::Failed, EXIT_INTERNAL),
        }
    }
}

impl RunState {
    /// Returns what the agent that got the goal of the run has answered, once its task has
    /// succeeded.
    pub fn answer(&self) -> Option<&str> {
        let record = self
            .goal()
            .filter(|record| severity(self, record) == Severity::Fine)?;
        Some(record.summary()).filter(|summary| !summary.is_empty())
    }

    /// Returns the plan that the run has made, and the path of the file that the user asked for;
    /// `None` if it was not asked to make one, or has none yet.
    pub fn made_plan(&self) -> Option<(&str, &str)> {
        self.settings.plan_file.as_deref().zip(self.answer())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_landing_that_failed_decides_how_its_run_ends() {
        let table = [
            (EXIT_USAGE, (RunStatus::NeedsHuman, EXIT_NEEDS_HUMAN)),
            (EXIT_NEEDS_HUMAN, (RunStatus::NeedsHuman, EXIT_NEEDS_HUMAN)),
            (EXIT_INTERRUPTED, (RunStatus::Interrupted, EXIT_INTERRUPTED)),
            (EXIT_TERMINATED, (RunStatus::Interrupted, EXIT_TERMINATED)),
            (EXIT_FAILED, (RunStatus::Failed, EXIT_FAILED)),
            (EXIT_INTERNAL, (RunStatus::Failed, EXIT_INTERNAL)),
        ];
        for (landing, expected) in table {
            assert_eq!(outcome_if_not_landed(landing), expected, "{landing}");
        }
    }

    #[test]
    fn a_request_to_stop_takes_precedence() {
        let succeeded = (RunStatus::Succeeded, EXIT_OK);
        assert_eq!(outcome_if_stopped(succeeded, None), succeeded);
        let terminated = outcome_if_stopped(succeeded, Some(EXIT_TERMINATED));
        assert_eq!(terminated, (RunStatus::Interrupted, EXIT_TERMINATED));
    }
}
