//! A request to stop a task, and what follows from it.

use super::TaskRecord;
use crate::event::{Event, StopRequest};

impl TaskRecord {
    /// Reports whether it is to be stopped, and has not ended yet.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_some() && !self.state().is_settled()
    }

    /// Returns the event with which it is cancelled, as was asked for, and before it the one that
    /// counts its request; none if nothing asks for that.
    pub(crate) fn cancellation(&self) -> Vec<Event> {
        let Some(stop) = self.stop.as_ref().filter(|_| self.is_stopping()) else {
            return Vec::new();
        };
        let by = stop
            .by
            .as_ref()
            .map_or_else(|| "request".to_owned(), |agent| format!("agent {agent}"));
        let message = format!("stopped by {by}; its worktree and branch are kept");
        self.cut()
            .into_iter()
            .chain([Event::TaskCancelled {
                task: self.task.id.clone(),
                message,
            }])
            .collect()
    }

    /// Records that it is to be stopped; the first request counts.
    pub(crate) fn request_stop(&mut self, request: &StopRequest) {
        if !self.state().is_settled() {
            self.stop.get_or_insert_with(|| request.clone());
        }
    }
}
