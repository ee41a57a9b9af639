//! Dropping tasks: deciding which, and what remains of them in the state.

use std::collections::BTreeSet;

use crate::event::{DroppedTasks, Illegal};
use crate::ids::{AgentId, TaskId};
use crate::record::TaskRecord;
use crate::run::request::RequestRefused;
use crate::run::run_state::RunState;

impl RunState {
    /// Decides which tasks are dropped: the task, and those that were built on it if they are to
    /// go, too.
    ///
    /// # Errors
    /// Fails with the reason if the task does not exist, has nothing to drop or has landed, or if
    /// others depend on it.
    pub fn decide_drop(
        &self,
        task: &TaskId,
        with_dependents: bool,
    ) -> Result<Vec<TaskId>, RequestRefused> {
        let record = self.known(task)?;
        if self
            .landings
            .iter()
            .any(|landing| landing.tasks.contains(task))
        {
            return Err(RequestRefused::Landed { task: task.clone() });
        }
        // A task that was stopped can be dropped: what it reviews no longer waits for it then.
        if record.is_given_up() && record.merged().is_empty() {
            return Err(RequestRefused::NothingToDrop {
                task: task.clone(),
                state: record.state(),
            });
        }
        // A later attempt that went into the result would not take the earlier ones with it.
        if let Some(parent) = self.holders(record).last() {
            return Err(RequestRefused::WithinParent {
                task: task.clone(),
                parent: parent.clone(),
            });
        }
        let mut dependents = Vec::new();
        for id in self.schedule.dependents(task) {
            if let Some(record) = self.task(&id)
                && record.attempt() > 0
                && !record.left_nothing()
            {
                dependents.push(id);
            }
        }
        if !dependents.is_empty() && !with_dependents {
            return Err(RequestRefused::HasDependents {
                task: task.clone(),
                dependents,
            });
        }
        let mut dropped = vec![task.clone()];
        dropped.extend(dependents);
        // The work of children is part of their parent's.
        let mut below = Vec::new();
        for record in self.tasks() {
            let id = &record.task.id;
            if dropped.iter().any(|from| self.is_ancestor(from, id)) {
                below.push(id.clone());
            }
        }
        dropped.extend(below);
        let mut seen = BTreeSet::new();
        dropped.retain(|id| seen.insert(id.clone()));
        Ok(dropped)
    }

    /// Returns the agents whose work contains an attempt of a task, from the one that it was merged
    /// into upwards.
    pub(crate) fn holders<'s>(
        &'s self,
        record: &'s TaskRecord,
    ) -> impl Iterator<Item = &'s AgentId> {
        // At most as many steps as there are tasks, in case a parent is its own ancestor.
        std::iter::successors(record.merged_into(), |agent| {
            self.task(agent)?.merged_into()
        })
        .take(self.tasks.len())
    }

    /// Returns the agents below a dropped task that were dropped with it. Their work is in its
    /// branch, maybe in a version that was rejected since.
    pub(crate) fn dropped_within(&self, record: &TaskRecord) -> Vec<TaskId> {
        let mut below = Vec::new();
        if !record.is_dropped() {
            return below;
        }
        for child in self.children(&record.task.id) {
            if child.is_dropped() && child.attempt() > 0 {
                below.push(child.task.id.clone());
            }
        }
        below
    }

    /// Returns what has to be dropped to take a task's work out of the result: the task, or the
    /// agent whose work contains it.
    pub fn to_be_dropped<'s>(&'s self, task: &'s TaskId) -> &'s TaskId {
        match self.task(task) {
            Some(record) => self.holders(record).last().unwrap_or(task),
            None => task,
        }
    }

    /// Returns the tasks whose work was rejected after it was merged, and is still part of the
    /// result.
    pub fn rejected_in_result(&self) -> Vec<TaskId> {
        let mut rejected = Vec::new();
        for record in self.tasks() {
            if record.is_rejected_in_result() && self.is_in_result(record) {
                rejected.push(record.task.id.clone());
            }
        }
        rejected
    }

    /// Applies the drop of tasks, with the commits that replace the merges of the others.
    pub(super) fn dropped(&mut self, dropped: &DroppedTasks) -> Result<(), Illegal> {
        let DroppedTasks {
            tasks,
            target,
            commit,
            merges,
        } = dropped;
        if *target != self.integration {
            return Err(Illegal::OtherResult(target.clone()));
        }
        if let Some(unknown) = tasks.iter().find(|task| self.task(task).is_none()) {
            return Err(Illegal::NoTask(unknown.clone()));
        }
        self.tasks.change_if(
            |_| true,
            |record| {
                if tasks.contains(&record.task.id) {
                    record.drop_work();
                } else {
                    record.replace_merges(merges);
                }
            },
        );
        for id in tasks {
            self.budget.release(id);
            self.budget.let_go(id);
            self.money.release(id);
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
    /// Returns the agent that the task's work was merged into first.
    fn merged_into(&self) -> Option<&AgentId> {
        self.merged().iter().find_map(|merged| merged.into.agent())
    }

    /// Reports whether the task is cancelled, and nothing of it is in the result.
    fn left_nothing(&self) -> bool {
        self.merged().is_empty() && matches!(self.state(), super::TaskState::Cancelled)
    }
}
