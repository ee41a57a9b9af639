//! Where one agent works: its worktree, what it may do there, and what stops it.

use std::sync::Arc;

use orchestrate_core::policy::Policy;
use orchestrate_core::{Oid, TaskId};
use orchestrate_git::Worktree;
use orchestrate_tools::WorktreeScope;

use crate::error::CoordinatorError;
use crate::run_context::RunContext;
use crate::shutdown::Shutdown;

/// Where one agent works.
#[derive(Clone)]
pub(crate) struct Workplace {
    pub(crate) context: Arc<RunContext>,
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) worktree: Arc<Worktree>,
    pub(crate) scope: Arc<WorktreeScope>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) shutdown: Shutdown,
}

impl Workplace {
    /// Gives where the task's branch stands.
    pub(crate) fn tip(&self) -> Result<Oid, CoordinatorError> {
        let missing = || CoordinatorError::UnknownTask { run: self.context.run.clone(), task: self.task.clone() };
        self.context.task(&self.task)?.tip.ok_or_else(missing)
    }
}
