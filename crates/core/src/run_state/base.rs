//! The check of the base: whether it is due, and its result.
//!
//! Work on a base whose check fails is wasted: every merged tree would fail, too. So no task is started before the base
//! has passed, and a run whose base fails ends as wrong usage. A run that is taken over after that checks again, since
//! the cause may have been outside the repository.

use crate::base_result::{BaseResult, RedBase};
use crate::event::Event;
use crate::run_state::RunState;
use crate::settings::MergeMode;

impl RunState {
    /// Returns the command that has to pass on the base before the run's tasks may start, or `None` if there is no
    /// such command, if it has ended, or if there is nothing to start.
    ///
    /// Once a task has started, the base is not checked any more: its merge is.
    pub fn base_check(&self) -> Option<&str> {
        let command = self.settings.verify.as_deref()?;
        let is_wanted = self.settings.verify_base && self.settings.merge != MergeMode::None;
        let has_begun = || self.tasks().any(|record| record.attempt() > 0);
        let is_open = is_wanted && self.base_result == BaseResult::Unknown && self.to_work_on().next().is_some();
        (is_open && !has_begun()).then_some(command)
    }

    /// Returns how the check of the base has failed, or `None` if it has not.
    pub fn red_base(&self) -> Option<&RedBase> {
        match &self.base_result {
            BaseResult::Failed(red) => Some(red),
            BaseResult::Unknown | BaseResult::Passed => None,
        }
    }

    /// Applies the result of the base's check.
    pub(super) fn base_verified(&mut self, event: &Event) {
        let Event::BaseVerified { command, passed, exit, output, .. } = event else { return };
        self.base_result = if *passed {
            BaseResult::Passed
        } else {
            BaseResult::Failed(RedBase { command: command.clone(), exit: exit.clone(), output: output.clone() })
        };
    }

    /// Forgets that the check of the base has failed.
    pub(super) fn forget_red_base(&mut self) {
        if self.red_base().is_some() {
            self.base_result = BaseResult::Unknown;
        }
    }
}
