//! The commits and branches of a run, as its agents may name them.

use serde::{Deserialize, Serialize};

use crate::ids::{Oid, RunId, TaskId};
use crate::record::TaskRecord;
use crate::run::run_state::RunState;

/// Between which commits a task's work lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSpan {
    /// The commit that it was built on: for an agent's child, that agent's work at that time.
    pub base: Oid,
    /// The tip of the branch that it is merged into.
    pub target: Oid,
}

/// The branches of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBranches {
    /// The tip of the integration branch.
    integration: Oid,
    /// The branch that the run started from.
    pub base: Option<String>,
    /// The commit that the run started from: the last of the user's.
    pub base_commit: Oid,
    /// Those of its tasks, in the run's order.
    pub tasks: Vec<TaskBranch>,
}

/// A task's branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskBranch {
    /// The task.
    pub task: TaskId,
    /// The branch's short name, once it has one.
    name: Option<String>,
    /// Its tip, once it has one.
    pub tip: Option<Oid>,
}

impl WorkSpan {
    /// Returns the span of a task's work.
    pub fn for_task(state: &RunState, record: &TaskRecord) -> Self {
        let base = record.base().unwrap_or(&state.base).clone();
        Self {
            base,
            target: state.target_tip(record).clone(),
        }
    }
}

impl RunBranches {
    /// Returns the branches of a run.
    pub fn for_run(state: &RunState) -> Self {
        let tasks = state.tasks().map(|record| TaskBranch {
            task: record.task.id.clone(),
            name: record.branch().map(str::to_owned),
            tip: record.tip().cloned(),
        });
        Self {
            integration: state.integration.clone(),
            base: state.base_branch.clone(),
            base_commit: state.base.clone(),
            tasks: tasks.collect(),
        }
    }

    /// Returns the task of this id, or whose branch has this name.
    pub fn named(&self, name: &str) -> Option<&TaskBranch> {
        self.tasks
            .iter()
            .find(|branch| branch.task.as_str() == name || branch.name.as_deref() == Some(name))
    }

    /// Returns the tip of a task's branch, or of the merged result, by its name within the run.
    pub fn tip(&self, run: &RunId, name: &str) -> Option<Oid> {
        if name == TaskId::INTEGRATION || name == run.integration_branch() {
            return Some(self.integration.clone());
        }
        self.named(name)?.tip.clone()
    }
}
