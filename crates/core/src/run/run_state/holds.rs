//! Why a person must approve a task's work before it is merged.

use crate::event::MergeTarget;
use crate::event::settings::MergeMode;
use crate::policy::WithheldFile;
use crate::record::TaskRecord;
use crate::run::run_state::RunState;
use crate::task::ReviewMode;

/// A reason why a person must approve a task's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// All work is to be approved.
    Always,
    /// A new file looks like a secret, and stays in the worktree.
    Withheld(WithheldFile),
    /// It takes something from existing tests.
    Weakened(String),
    /// Its risk is high.
    Risk(String),
}

impl std::fmt::Display for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Hold::Always => f.write_str("all work is to be approved"),
            Hold::Withheld(file) => write!(f, "{file} is new, and is not in the commit"),
            Hold::Weakened(what) => write!(f, "it {what}"),
            Hold::Risk(why) => f.write_str(why),
        }
    }
}

impl RunState {
    /// Returns when a person must approve a task's work: as the task says, within what the user
    /// allows, or the run.
    pub fn review_mode(&self, record: &TaskRecord) -> ReviewMode {
        let of_run = if self.settings.merge == MergeMode::Review {
            ReviewMode::Always
        } else {
            self.settings.review
        };
        let least = self.settings.least_review.unwrap_or(ReviewMode::Never);
        let least = if self.settings.merge == MergeMode::Review {
            ReviewMode::Always
        } else {
            least
        };
        record.task.review.map_or(of_run, |own| own.max(least))
    }

    /// Reports whether the user must approve a task before it is merged.
    pub fn needs_review(&self, record: &TaskRecord) -> bool {
        !self.holds(record).is_empty()
    }

    /// Returns why the user must approve a task before it is merged; empty if that is not needed.
    pub fn holds(&self, record: &TaskRecord) -> Vec<Hold> {
        self.holds_in(record, &self.merge_target(record))
    }

    /// Reports whether the user must approve a task before it is merged into a branch.
    pub(super) fn needs_review_in(&self, record: &TaskRecord, into: &MergeTarget) -> bool {
        !self.holds_in(record, into).is_empty()
    }

    fn holds_in(&self, record: &TaskRecord, into: &MergeTarget) -> Vec<Hold> {
        let mode = self.review_mode(record);
        let mut holds = Vec::new();
        if mode >= ReviewMode::DeletedTests {
            // Nobody else has such a file, so that nobody could decide about it later.
            holds.extend(record.aside().withheld.iter().cloned().map(Hold::Withheld));
        }
        // What is merged into another agent's work is reviewed with that, unless the task says
        // otherwise.
        if !into.is_integration() && record.task.review.is_none() {
            return holds;
        }
        let (risks, weakened) = record
            .compared()
            .map_or((&[][..], &[][..]), |work| (&work.risks, &work.weakened));
        if mode == ReviewMode::Always {
            holds.push(Hold::Always);
        }
        if mode >= ReviewMode::DeletedTests {
            holds.extend(weakened.iter().cloned().map(Hold::Weakened));
        }
        if mode >= ReviewMode::Risky {
            holds.extend(risks.iter().cloned().map(Hold::Risk));
        }
        holds
    }
}
