//! The check of the base: whether it is due, and its result.
//!
//! Work on a base whose check fails is wasted: every merged tree would fail, too. So no task is
//! started before the base has passed, and a run whose base fails ends as wrong usage. A run that
//! is taken over after that checks again, since the cause may have been outside the repository. A
//! red check is tried again first, as each is; not so a setup, whose failure on the base is
//! remembered.

use crate::checks::flaky::{TriedCheck, Try, VerifyResult};
use crate::checks::{BaseResult, RedBase};
use crate::event::Event;
use crate::event::settings::MergeMode;
use crate::ids::BlobId;
use crate::run::run_state::RunState;

impl RunState {
    /// Returns the command that has to pass on the base before the run's tasks may start, or `None`
    /// if there is no such command, if it has ended, or if there is nothing to start.
    ///
    /// Once a task has started, the base is not checked any more: its merge is.
    pub fn base_check(&self) -> Option<&str> {
        let command = self.settings.verify.as_deref()?;
        let is_wanted = self.settings.verify_base && self.settings.merge != MergeMode::None;
        let is_unknown = matches!(
            self.base_result,
            BaseResult::Unknown | BaseResult::FailedSoFar
        );
        let is_open = is_wanted && is_unknown && self.to_work_on().next().is_some();
        if !is_open || self.tasks().any(|record| record.attempt() > 0) {
            return None;
        }
        Some(command)
    }

    /// Returns how the check of the base has failed, or `None` if it has not.
    pub fn red_base(&self) -> Option<&RedBase> {
        match &self.base_result {
            BaseResult::Failed(red) => Some(red),
            BaseResult::Unknown | BaseResult::Passed | BaseResult::FailedSoFar => None,
        }
    }

    /// Applies the result of the base's check.
    pub(super) fn base_verified(&mut self, event: &Event) {
        let Event::BaseVerified {
            tree,
            command,
            passed,
            exit,
            output,
            ..
        } = event
        else {
            return;
        };
        // A tree that passed in an earlier run has no output here.
        let kept = output.clone().unwrap_or_else(|| BlobId::from(""));
        let result = VerifyResult {
            passed: *passed,
            exit: exit.clone(),
            output: kept,
        };
        // Another command than the check is the setup that had to pass before.
        let is_check = self.settings.verify.as_deref() == Some(command.as_str());
        let retries = if is_check {
            self.settings.verify_retries
        } else {
            0
        };
        let results = &mut self.merges.results;
        results.add(Try {
            task: None,
            tree,
            command,
            result,
        });
        self.base_result = match results.judge(results.for_tree(tree, command), command, retries) {
            _ if *passed => BaseResult::Passed,
            TriedCheck::Open => BaseResult::FailedSoFar,
            TriedCheck::Green | TriedCheck::Red => {
                let (tree, command) = (tree.clone(), command.clone());
                BaseResult::Failed(RedBase {
                    tree,
                    command,
                    exit: exit.clone(),
                    output: output.clone(),
                })
            }
        };
    }

    /// Forgets that the check of the base has failed.
    pub(super) fn forget_red_base(&mut self) {
        if let Some(RedBase { tree, command, .. }) = self.red_base().cloned() {
            self.merges.results.forget(&tree, &command);
            self.base_result = BaseResult::Unknown;
        }
    }
}
