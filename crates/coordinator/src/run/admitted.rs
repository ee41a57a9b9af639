//! The disk space of agents that were admitted and have not taken it yet.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use orchestrate_core::{RunState, TaskId};

/// The bytes that agents will take which were admitted and whose worktrees are not prepared yet.
#[derive(Debug, Default)]
pub(crate) struct Admitted(Mutex<BTreeMap<TaskId, u64>>);

impl Admitted {
    /// Admits a task to this much of the free space, or returns what there is for it.
    pub(crate) fn admit(
        &self,
        state: &RunState,
        task: &TaskId,
        needed: u64,
        free: u64,
    ) -> Result<(), u64> {
        let mut admitted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_about_to_take = |of: &TaskId| {
            state
                .task(of)
                .is_some_and(|record| record.state().is_workable() && !record.is_prepared())
        };
        admitted.retain(|of, _| of != task && is_about_to_take(of));
        let room = free.saturating_sub(admitted.values().sum());
        if needed > room {
            return Err(room);
        }
        admitted.insert(task.clone(), needed);
        Ok(())
    }
}
