//! The records of a run's tasks, with those that the current fact has changed.

use std::sync::Arc;

use crate::collections::IdMap;
use crate::ids::TaskId;
use crate::record::task_record::TaskRecord;

/// The records. Nothing else changes them, so that no change goes unnoticed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskRecords {
    records: IdMap<Arc<TaskRecord>>,
    changes: Changes,
}

/// The tasks that the current fact concerns itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// Those whose records it has changed, or added.
    pub(crate) changed: Vec<TaskId>,
    /// Those that wait for others than before, or are new.
    pub(crate) rewired: Vec<TaskId>,
}

impl TaskRecords {
    pub(crate) fn len(&self) -> usize {
        self.records.size()
    }

    pub(crate) fn get(&self, id: &TaskId) -> Option<&TaskRecord> {
        self.records.get(id).map(Arc::as_ref)
    }

    pub(crate) fn insert(&mut self, record: TaskRecord) {
        self.changes.changed.push(record.task.id.clone());
        self.records
            .insert_mut(record.task.id.clone(), Arc::new(record));
    }

    /// Returns a record for a change.
    pub(crate) fn get_mut(&mut self, id: &TaskId) -> Option<&mut TaskRecord> {
        let record = self.records.get_mut(id)?;
        if self.changes.changed.last() != Some(id) {
            self.changes.changed.push(id.clone());
        }
        Some(Arc::make_mut(record))
    }

    /// Returns a record for a change, if it is such a one.
    pub(crate) fn get_mut_if(
        &mut self,
        id: &TaskId,
        is_so: impl Fn(&TaskRecord) -> bool,
    ) -> Option<&mut TaskRecord> {
        if self.get(id).is_some_and(is_so) {
            self.get_mut(id)
        } else {
            None
        }
    }

    /// Changes all records that are such ones.
    pub(crate) fn change_if(
        &mut self,
        is_so: impl Fn(&TaskRecord) -> bool,
        mut change: impl FnMut(&mut TaskRecord),
    ) {
        let ids: Vec<TaskId> = self
            .records
            .iter()
            .filter(|(_, record)| is_so(record))
            .map(|(id, _)| id.clone())
            .collect();
        for id in ids {
            if let Some(record) = self.get_mut(&id) {
                change(record);
            }
        }
    }

    /// Counts a task among those that wait for others than before.
    pub(crate) fn note_rewired(&mut self, id: TaskId) {
        self.changes.rewired.push(id);
    }

    /// Returns the tasks that the current fact concerns itself, and forgets them.
    pub(crate) fn take_changes(&mut self) -> Changes {
        std::mem::take(&mut self.changes)
    }
}
