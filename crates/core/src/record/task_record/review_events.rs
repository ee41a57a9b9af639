//! The events of a review, applied to the reviewing task, and what they left there.

use std::collections::BTreeMap;

use crate::event::{Event, Illegal};
use crate::ids::{Oid, TaskId};
use crate::record::task_record::TaskRecord;
use crate::record::task_record::stage::Stage;
use crate::record::task_record::started::Started;
use crate::task::verdict::{ReviewVerdict, VerdictGiven};

impl Started {
    /// Applies an event of a review, or the end of a task with nothing to do.
    pub(super) fn apply_review(&mut self, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::ReviewVerdict(VerdictGiven {
                verdict,
                changes,
                comment,
                ..
            }) => {
                self.require_running()?;
                let (verdict, changes, comment) = (*verdict, changes.clone(), comment.clone());
                self.review.newest = Some(ReviewVerdict {
                    verdict,
                    changes,
                    comment,
                });
                (self.review.is_given, self.review.is_told) = (true, false);
                Ok(())
            }
            Event::ReviewWaiting { .. } => {
                self.require_running()?;
                self.review.conclude();
                self.enter(Stage::Pending);
                Ok(())
            }
            Event::NothingToDo { summary, .. } => {
                self.require_running()?;
                self.review.conclude();
                self.end_without_work(Stage::NothingToDo);
                self.summary.clone_from(summary);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl TaskRecord {
    /// Returns the newest verdict of a reviewing task.
    pub fn verdict(&self) -> Option<&ReviewVerdict> {
        self.started()?.review.newest.as_ref()
    }

    /// Returns the verdict that counts when its agent ends.
    pub fn given_verdict(&self) -> Option<&ReviewVerdict> {
        self.verdict().filter(|_| {
            self.started()
                .is_some_and(|started| started.review.is_given)
        })
    }

    /// Reports whether its agent was told that it has to end with a verdict.
    pub(crate) fn verdict_told(&self) -> bool {
        self.started().is_some_and(|started| started.review.is_told)
    }

    /// Returns the trees that the newest attempt of a reviewing task was shown.
    pub fn shown_work(&self) -> &BTreeMap<TaskId, Oid> {
        static NONE: BTreeMap<TaskId, Oid> = BTreeMap::new();
        self.started()
            .map_or(&NONE, |started| &started.review.shown)
    }

    /// Reports whether it has approved this tree of a task.
    pub(crate) fn has_approved(&self, task: &TaskId, tree: Option<&Oid>) -> bool {
        let approved = self
            .started()
            .and_then(|started| started.review.approved.get(task));
        approved.is_some() && approved == tree
    }

    /// Reports whether its finished work waits for a verdict or for the user's approval.
    pub(crate) fn awaits_verdict(&self) -> bool {
        let stage = self.started().map(|started| &started.stage);
        matches!(
            stage,
            Some(
                Stage::Verified {
                    is_approved: false,
                    ..
                } | Stage::AwaitingReview(_)
            )
        )
    }

    /// Records what the newest attempt is shown.
    pub(crate) fn show_work(&mut self, trees: BTreeMap<TaskId, Oid>) {
        if let Some(started) = self.started_mut() {
            started.review.shown = trees;
            started.review.is_given = false;
        }
    }

    /// Withdraws a verdict that was given and does not count yet.
    pub(crate) fn withdraw_verdict(&mut self) {
        if let Some(started) = self.started_mut() {
            started.review.is_given = false;
        }
    }

    /// Makes a reviewing task that has ended with a verdict wait for new work.
    pub(crate) fn await_new_work(&mut self) {
        if let Some(started) = self.started_mut() {
            started.enter(Stage::Pending);
        }
    }
}
