//! Dropping tasks: deciding which, and what remains of them in the state.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::dropped_tasks::DroppedTasks;
use crate::ids::TaskId;
use crate::illegal::Illegal;
use crate::request::RequestRefused;
use crate::run_state::{RunState, TaskRecord};

impl RunState {
    /// Decides which tasks are dropped: the task, and those that were built on it if they are to go, too.
    ///
    /// # Errors
    /// Fails with the reason if the task does not exist, has nothing to drop or has landed, or if others depend on it.
    pub fn decide_drop(&self, task: &TaskId, with_dependents: bool) -> Result<Vec<TaskId>, RequestRefused> {
        let record = self.known(task)?;
        if self.landings.iter().any(|landing| landing.tasks.contains(task)) {
            return Err(RequestRefused::Landed { task: task.clone() });
        }
        // A task that was stopped can be dropped: what it reviews no longer waits for it then.
        if record.is_given_up() && record.merged().is_empty() {
            return Err(RequestRefused::NothingToDrop { task: task.clone(), state: record.state() });
        }
        if let Some(parent) = record.merged().last().and_then(|merged| merged.into.agent()) {
            return Err(RequestRefused::WithinParent { task: task.clone(), parent: parent.clone() });
        }
        let begun = |id: &TaskId| self.task(id).is_some_and(|record| record.attempt() > 0 && !record.left_nothing());
        let dependents: Vec<TaskId> = self.schedule.dependents(task).into_iter().filter(begun).collect();
        if !dependents.is_empty() && !with_dependents {
            return Err(RequestRefused::HasDependents { task: task.clone(), dependents });
        }
        let mut dropped: Vec<TaskId> = std::iter::once(task.clone()).chain(dependents).collect();
        // The work of children is part of their parent's.
        let descends = |id: &TaskId| dropped.iter().any(|from| self.is_ancestor(from, id));
        let below: Vec<TaskId> = self.tasks().map(|record| record.task.id.clone()).filter(descends).collect();
        dropped.extend(below);
        let mut seen = BTreeSet::new();
        dropped.retain(|id| seen.insert(id.clone()));
        Ok(dropped)
    }

    /// Returns the tasks whose work was rejected after it was merged, and is still part of the result.
    pub fn rejected_in_result(&self) -> Vec<TaskId> {
        let is_rejected = |record: &&TaskRecord| record.is_rejected_in_result() && self.is_in_result(record);
        let rejected = self.tasks().filter(is_rejected);
        rejected.map(|record| record.task.id.clone()).collect()
    }

    /// Applies the drop of tasks, with the commits that replace the merges of the others.
    pub(super) fn dropped(&mut self, dropped: &DroppedTasks) -> Result<(), Illegal> {
        let DroppedTasks { tasks, target, commit, merges } = dropped;
        if *target != self.integration {
            return Err(Illegal::OtherResult(target.clone()));
        }
        if let Some(unknown) = tasks.iter().find(|task| self.task(task).is_none()) {
            return Err(Illegal::NoTask(unknown.clone()));
        }
        for (id, record) in &mut self.tasks {
            let record = Arc::make_mut(record);
            if tasks.contains(id) {
                record.drop_work();
                self.budget.release(id);
                self.budget.let_go(id);
                self.money.release(id);
            } else {
                record.replace_merges(merges);
            }
        }
        // A merge into the previous result would bring the dropped work back.
        self.merges.restart();
        if commit != target {
            self.replaced.push(target.clone());
            self.integration = commit.clone();
        }
        Ok(())
    }
}

impl TaskRecord {
    /// Reports whether the task is cancelled, and nothing of it is in the result.
    fn left_nothing(&self) -> bool {
        self.merged().is_empty() && matches!(self.state(), super::TaskState::Cancelled)
    }
}
