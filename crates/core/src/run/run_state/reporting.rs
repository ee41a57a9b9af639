//! The last report of an agent that has reached a limit: whether it is due, and what may be spent
//! on it.

use crate::agent::budget::{Amount, Reservation};
use crate::agent::{MAX_REPORT_TOKENS, ReachedLimit, ReportDue};
use crate::event::{Event, Wait};
use crate::ids::TaskId;
use crate::record::TaskRecord;
use crate::run::run_state::RunState;
use crate::task::{FailureCause, TaskState};

impl RunState {
    /// Returns the event with which an agent that has reached a limit is asked for its last report;
    /// `None` if none is due: of a command, of finished work, at no limit, or if it was asked
    /// already.
    pub fn decide_report(
        &self,
        task: &TaskId,
        cause: FailureCause,
        message: &str,
    ) -> Option<Event> {
        let record = self.task(task)?;
        let is_working = match record.state() {
            TaskState::Running => record.is_prepared(),
            TaskState::Waiting => matches!(
                record.wait(),
                Some(Wait::Agents { .. } | Wait::Message { .. })
            ),
            _ => false,
        };
        if record.is_command()
            || !is_working
            || !cause.asks_for_report()
            || record.reached_limit().is_some()
        {
            return None;
        }
        let limit = ReachedLimit {
            cause,
            message: message.to_owned(),
            tokens: self.report_tokens(record),
        };
        Some(Event::ReportDue(ReportDue {
            task: task.clone(),
            limit,
        }))
    }

    /// Returns the tokens that an agent's last request and its reply may use: what is held for it,
    /// and a fixed amount where no budget limits it. An agent that has not replied yet has nothing
    /// to report.
    fn report_tokens(&self, record: &TaskRecord) -> u64 {
        if record.turns() == 0 {
            0
        } else if self.budget.is_capped(&record.task.id) {
            self.budget.held(&record.task.id)
        } else {
            MAX_REPORT_TOKENS
        }
    }

    /// Counts an event that concerns the checks of a task's work.
    pub(super) fn count_checks(&mut self, task: &TaskId, event: &Event) {
        let changes_files = |tool: &str| {
            self.settings
                .tools
                .tool(tool)
                .is_none_or(|traits| traits.changes_files)
        };
        if let Some(record) = self.tasks.get_mut(task) {
            record.count_checks(event, changes_files, self.settings.verify.as_deref());
        }
    }

    /// Decides whether a task may send its last request, which needs this much.
    pub(super) fn ask_for_report(&self, task: &TaskId, amount: Amount) -> Reservation {
        let tokens = self.budget.ask_report(task, amount.tokens);
        let money = self
            .money
            .ask_report(task, amount.micro_usd.unwrap_or_default());
        both(tokens, money)
    }
}

/// Returns what follows from the decisions of both budgets.
pub(super) fn both(tokens: Reservation, money: Reservation) -> Reservation {
    match (tokens, money) {
        (refused @ Reservation::Refused(_), _) | (_, refused @ Reservation::Refused(_)) => refused,
        (Reservation::Fits, Reservation::Fits) => Reservation::Fits,
        _ => Reservation::Waits,
    }
}
