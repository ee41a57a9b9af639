//! Reviews by tasks: what waits for a verdict, what a verdict does, and what it is about.
//!
//! A reviewing task starts when the tasks that it reviews have handed over their work, and they are
//! merged only after its approval of exactly these trees. The approval of a person counts as well.

use std::collections::BTreeMap;

use crate::event::Event;
use crate::event::settings::MergeMode;
use crate::ids::{Oid, TaskId};
use crate::record::{AfterReview, TaskRecord, VerdictEnd};
use crate::run::run_state::RunState;
use crate::task::schedule::Progress;
use crate::task::verdict::{
    RequestedChange, ReviewVerdict, VerdictGiven, VerdictKind, VerdictRefused,
};
use crate::task::{ReturnCause, TaskState};

impl RunState {
    /// Returns the reviewing tasks whose approval a task's finished work waits for. One that failed
    /// or was stopped has approved nothing: the work then waits for its retry or for a person.
    pub fn waits_for_verdict_of(&self, record: &TaskRecord) -> Vec<TaskId> {
        if self.settings.merge == MergeMode::None || !record.awaits_verdict() {
            return Vec::new();
        }
        let mut open = Vec::new();
        for id in self.schedule.reviewers(&record.task.id) {
            let Some(reviewer) = self.task(id) else {
                continue;
            };
            let is_wanted = !reviewer.is_given_up() && !reviewer.was_done();
            if is_wanted && !reviewer.has_approved(&record.task.id, record.tree()) {
                open.push(id.clone());
            }
        }
        open
    }

    /// Returns the tasks whose finished work is merged without a review if these tasks are dropped.
    pub fn unreviewed_without(&self, dropped: &[TaskId]) -> Vec<TaskId> {
        let mut freed = Vec::new();
        for record in self.tasks() {
            let id = &record.task.id;
            let reviewers = self.waits_for_verdict_of(record);
            let waits_for_dropped =
                !reviewers.is_empty() && reviewers.iter().all(|id| dropped.contains(id));
            if waits_for_dropped && !dropped.contains(id) && !self.needs_review(record) {
                freed.push(id.clone());
            }
        }
        freed
    }

    /// Reports whether a task's finished work waits for the verdict of a task that reviews it.
    pub fn is_held(&self, record: &TaskRecord) -> bool {
        !self.waits_for_verdict_of(record).is_empty()
    }

    /// Returns the trees of the finished work that a reviewing task has to review.
    pub fn work_under_review(&self, reviewer: &TaskId) -> BTreeMap<TaskId, Oid> {
        let mut work = BTreeMap::new();
        for id in self.schedule.reviews(reviewer) {
            if let Some(record) = self.task(&id)
                && record.awaits_verdict()
                && let Some(tree) = record.tree()
            {
                work.insert(id, tree.clone());
            }
        }
        work
    }

    /// Decides whether a verdict is accepted. Of several in one reply the first counts, but an
    /// approval never hides requested changes.
    ///
    /// # Errors
    ///
    /// Fails with the reason for the reviewer's agent.
    pub fn decide_verdict(
        &self,
        task: &TaskId,
        given: &ReviewVerdict,
    ) -> Result<Event, VerdictRefused> {
        let Some(reviewer) = self.task(task).filter(|record| record.task.verdict) else {
            return Err(VerdictRefused::NotAReviewer);
        };
        given.check()?;
        if let Some(earlier) = reviewer.given_verdict() {
            let is_sharper =
                given.verdict == VerdictKind::Changes && earlier.verdict != VerdictKind::Changes;
            if !is_sharper {
                return Err(VerdictRefused::AlreadyGiven);
            }
        }
        let waiting: Vec<TaskId> = self.work_under_review(task).into_keys().collect();
        if let Some(other) = given
            .changes
            .iter()
            .find(|change| !waiting.contains(&change.task))
        {
            return Err(VerdictRefused::NotWaiting {
                task: other.task.clone(),
                waiting,
            });
        }
        if given.verdict == VerdictKind::NothingToDo && !waiting.is_empty() {
            return Err(VerdictRefused::SomethingToDo { waiting });
        }
        let ReviewVerdict {
            verdict,
            changes,
            comment,
        } = given.clone();
        Ok(Event::ReviewVerdict(VerdictGiven {
            task: task.clone(),
            verdict,
            changes,
            comment,
        }))
    }

    /// Decides what follows when a reviewing task's agent ends now; returns `None` if it has given
    /// no verdict.
    pub fn verdict_end(&self, task: &TaskId) -> Option<VerdictEnd> {
        let record = self
            .task(task)
            .filter(|record| record.state() == TaskState::Running)?;
        let given = record.given_verdict()?;
        let is_current = self
            .schedule
            .reviews(task)
            .iter()
            .all(|id| self.is_as_shown(record, id));
        Some(match given.verdict {
            VerdictKind::Approve if is_current => VerdictEnd::Approve,
            VerdictKind::NothingToDo if is_current => VerdictEnd::NothingToDo,
            VerdictKind::Approve | VerdictKind::NothingToDo => VerdictEnd::Await(Vec::new()),
            VerdictKind::Changes => VerdictEnd::Await(self.after_review(given)),
        })
    }

    /// Reports whether a task's work is what its reviewer was shown, or nothing that could still be
    /// merged.
    fn is_as_shown(&self, reviewer: &TaskRecord, task: &TaskId) -> bool {
        let Some(record) = self.task(task) else {
            return true;
        };
        match record.state() {
            TaskState::Verified | TaskState::AwaitingReview => {
                !record.awaits_verdict() || reviewer.shown_work().get(task) == record.tree()
            }
            state => state.is_settled(),
        }
    }

    /// Returns what happens to each task that a verdict names, several changes of one task joined.
    fn after_review(&self, given: &ReviewVerdict) -> Vec<AfterReview> {
        let mut texts: BTreeMap<&TaskId, Vec<&str>> = BTreeMap::new();
        for change in &given.changes {
            texts
                .entry(&change.task)
                .or_default()
                .push(change.text.trim());
        }
        let mut after = Vec::new();
        for (task, texts) in texts {
            // The user may have decided about the work meanwhile.
            let Some(record) = self.task(task).filter(|record| record.awaits_verdict()) else {
                continue;
            };
            let change = RequestedChange {
                task: task.clone(),
                text: texts.join("\n\n"),
            };
            let next = record.after_fault(
                ReturnCause::ChangesRequested,
                None,
                self.settings.merge_rounds,
            );
            after.push(AfterReview {
                change,
                after: next,
            });
        }
        after
    }

    /// Returns a task's progress for the schedule.
    pub(super) fn progress(&self, record: &TaskRecord) -> Progress {
        match record.state() {
            TaskState::Pending => Progress::Waiting,
            // Nothing is merged in this mode, so work that has passed its check is complete.
            TaskState::Verified if self.stays_unmerged(record) || self.is_held(record) => {
                Progress::Held
            }
            TaskState::Ready | TaskState::Running | TaskState::Committed | TaskState::Verified => {
                Progress::Active
            }
            TaskState::Waiting if record.waits_for_person() => Progress::Parked,
            TaskState::Waiting => Progress::Active,
            TaskState::AwaitingReview => Progress::Held,
            TaskState::Merged | TaskState::NothingToDo => Progress::Merged,
            TaskState::Failed
            | TaskState::Conflicted
            | TaskState::Skipped
            | TaskState::Cancelled => Progress::Failed,
        }
    }

    /// Applies an event to the tasks that review the event's task, and to what it reviews itself.
    pub(super) fn note_review(&mut self, event: &Event) {
        match event {
            Event::AgentSpawned { task, .. } => {
                let shown = self.work_under_review(task);
                if let Some(record) = self.tasks.get_mut_if(task, |record| record.task.verdict) {
                    record.show_work(shown);
                }
            }
            Event::TaskReturned { task, .. } => {
                let reviewers: Vec<TaskId> = self.schedule.reviewers(task).cloned().collect();
                for reviewer in reviewers {
                    if let Some(record) = self.tasks.get_mut_if(&reviewer, has_ended) {
                        record.await_new_work();
                    }
                }
            }
            Event::MessageDelivered {
                to, expired: false, ..
            } => {
                if let Some(record) = self
                    .tasks
                    .get_mut_if(to, |record| record.given_verdict().is_some())
                {
                    record.withdraw_verdict();
                }
            }
            _ => {}
        }
    }
}

fn has_ended(record: &TaskRecord) -> bool {
    record.state().is_merged() && !record.was_done()
}
