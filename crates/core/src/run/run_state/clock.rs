//! The time of a run and of its tasks, and what stops it: sleep, pauses and models that do not
//! answer.

use std::time::Duration;

use crate::event::{Event, Recorded};
use crate::ids::TaskId;
use crate::record::{Outage, TaskRecord};
use crate::run::agenda::List;
use crate::run::run_state::RunState;

impl RunState {
    /// Records since when a model does not answer.
    pub(super) fn note_outage(&mut self, fact: &Recorded) {
        if let Event::ModelWaiting { task, turn, error } = &fact.event
            && let Some(record) = self.tasks.get_mut(task)
        {
            let (since_ms, error) = (fact.ts_ms, error.clone());
            record.begin_outage(Outage {
                since_ms,
                error,
                turn: *turn,
            });
        }
    }

    /// Ends all outages: the process whose agents waited has ended.
    pub(super) fn end_outages(&mut self) {
        self.tasks
            .change_if(|record| record.outage().is_some(), TaskRecord::end_outage);
    }

    /// Records for a failed task whether the run had any time left.
    pub(super) fn note_time(&mut self, event: &Event) {
        let is_over = self.time_left() == Some(Duration::ZERO);
        if let Event::TaskFailed { task, .. } = event
            && let Some(record) = self.tasks.get_mut(task)
        {
            record.note_time(is_over);
        }
    }

    /// Tracks whether the task of an event is being worked on.
    pub(super) fn count_work(&mut self, event: &Event) {
        let task = match event {
            Event::ApprovalDecided { call, .. } => {
                self.approvals.get(call).map(|approval| &approval.task)
            }
            other => other.task(),
        };
        let now = self.worked_ms();
        if let Some(record) =
            task.and_then(|task| self.tasks.get_mut_if(task, TaskRecord::is_count_due))
        {
            record.count_work(now);
        }
    }

    /// Reports whether the run's time stands still: agents wait for models that do not answer, and
    /// nothing else is done.
    pub fn stands_still(&self) -> bool {
        self.is_any(List::Silent) && self.merges.current().is_none() && !self.is_any(List::AtWork)
    }

    /// Returns the milliseconds in which a process worked on the run, up to its newest event.
    pub fn worked_ms(&self) -> u64 {
        self.updated_ms
            .saturating_sub(self.started_ms)
            .saturating_sub(self.paused_ms)
    }

    /// Returns the remaining time of the run, or `None` if it has no limit.
    pub fn time_left(&self) -> Option<Duration> {
        let limit = self.settings.timeout_ms?;
        Some(Duration::from_millis(
            limit.saturating_sub(self.worked_ms()),
        ))
    }

    /// Returns the remaining time of the newest attempt at a task, or `None` if it has no limit.
    pub fn time_left_of(&self, task: &TaskId) -> Option<Duration> {
        let record = self.task(task)?;
        Some(Duration::from_millis(
            record
                .task
                .timeout_ms?
                .saturating_sub(self.worked_ms_on(record)),
        ))
    }

    /// Returns the milliseconds worked on the newest attempt at a task, up to the run's newest
    /// event.
    pub fn worked_ms_on(&self, record: &TaskRecord) -> u64 {
        record.worked_ms(self.worked_ms())
    }
}
