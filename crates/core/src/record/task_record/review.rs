//! What a reviewing task was shown, and what it decided.

use std::collections::BTreeMap;
use std::mem;

use serde::{Deserialize, Serialize};

use crate::ids::{Oid, TaskId};
use crate::task::ReturnCause;
use crate::task::verdict::{ReviewVerdict, VerdictKind};

/// The state of a reviewing task's review; empty for any other task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Review {
    /// The newest verdict.
    pub(super) newest: Option<ReviewVerdict>,
    /// Whether that verdict counts when the agent ends.
    pub(super) is_given: bool,
    /// Whether the agent was told that it has to end with a verdict.
    pub(super) is_told: bool,
    /// The trees that the newest attempt was shown.
    pub(super) shown: BTreeMap<TaskId, Oid>,
    /// The trees that it has approved.
    pub(super) approved: BTreeMap<TaskId, Oid>,
}

impl Review {
    /// Records a return of the reviewing task itself.
    pub(super) fn returned(&mut self, cause: ReturnCause) {
        self.is_given = false;
        self.is_told |= cause == ReturnCause::NoVerdict;
        if cause.is_new_attempt() {
            // The user wants another verdict.
            self.is_told = false;
            self.approved.clear();
        }
    }

    /// Makes the given verdict count.
    pub(super) fn conclude(&mut self) {
        if !mem::take(&mut self.is_given) {
            return;
        }
        match self.newest.as_ref().map(|newest| newest.verdict) {
            Some(VerdictKind::Approve) => self.approved.clone_from(&self.shown),
            _ => self.approved.clear(),
        }
    }
}
