//! The checks of work and of merged trees: how often they are tried, and for which task a result
//! counts.

use crate::checks::flaky::{AfterRedCheck, CheckTries, FlakyCheck, TriedCheck, VerifyResult};
use crate::ids::{Oid, TaskId};
use crate::run::run_state::RunState;

impl RunState {
    /// Decides what follows from a task's own check that has failed.
    pub fn after_red_check(&self, task: &TaskId) -> AfterRedCheck {
        let results = &self.merges.results;
        let tries = results.of_work(task);
        let command = self
            .task(task)
            .and_then(|record| record.task.verify.as_deref());
        match results.judge(
            tries,
            command.unwrap_or_default(),
            self.settings.verify_retries,
        ) {
            TriedCheck::Open => AfterRedCheck::TryAgain,
            TriedCheck::Green | TriedCheck::Red => {
                AfterRedCheck::Blame(tries.map_or_else(Vec::new, |tries| tries.red().to_vec()))
            }
        }
    }

    /// Returns how often a check may fail on one tree before its result counts.
    pub fn tries_of_check(&self, command: &str) -> u32 {
        self.merges
            .results
            .allowed(command, self.settings.verify_retries)
    }

    /// Returns the checks of a task's work that have failed and passed on one tree, oldest first.
    pub fn flaky_checks_of<'s>(&'s self, task: &'s TaskId) -> impl Iterator<Item = &'s FlakyCheck> {
        self.merges
            .flaky_checks()
            .iter()
            .filter(move |flaky| flaky.task.as_ref() == Some(task))
    }

    /// Counts the check of a merged tree for another task as a check for this one.
    pub(super) fn take_over_check(&mut self, task: &TaskId, tree: &Oid) {
        let checked = self.run_check(tree).map(|checked| checked.passed);
        if let (Some(passed), Some(record)) = (checked, self.tasks.get_mut(task)) {
            record.count_check(passed);
        }
    }

    /// Counts the run's failed check of a tree for the task that hands over that very tree, even if
    /// the task's own check passes: merged as it is, it would fail again.
    pub(super) fn count_red_check(&mut self, task: &TaskId, tree: &Oid) {
        if self.run_check(tree).is_some_and(|checked| !checked.passed) {
            self.take_over_check(task, tree);
        }
    }

    /// Returns the result of the run's check on a tree, as far as it counts.
    fn run_check(&self, tree: &Oid) -> Option<&VerifyResult> {
        let command = self.settings.verify.as_deref()?;
        self.merges
            .results
            .for_tree(tree, command)
            .and_then(CheckTries::result)
    }
}
