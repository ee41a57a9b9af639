//! The next step for a task and what it requires: rules for its worker, its worktree and its
//! branch.

use crate::ids::{AgentId, Oid};
use crate::record::task_record::TaskRecord;
use crate::task::TaskState;

/// A worker's next step for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkStep {
    /// Starts an attempt.
    Begin {
        /// Its number.
        attempt: u32,
    },
    /// Prepares a new worktree.
    SetUp,
    /// Brings the files of what was merged into the branch into the worktree.
    BringFiles {
        /// The commit whose files the worktree has.
        from: Oid,
        /// The branch's tip.
        to: Oid,
    },
    /// Merges the commit that the work was returned onto into the worktree.
    MergeInto {
        /// The commit.
        onto: Oid,
    },
    /// Lets the agent or the command continue.
    Drive,
    /// Runs the task's own check.
    Verify {
        /// The command.
        command: String,
        /// The tree of the work.
        tree: Oid,
    },
}

/// What the user should know about a task when its run is landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingConcern {
    /// The result contains its work, which was rejected after it was merged, and nothing has
    /// replaced it.
    RejectedInResult,
    /// It was built on work that was rejected after it was merged.
    BuiltOnRejected,
    /// The result contains nothing of it, although it was not cancelled.
    NotInResult,
    /// It was merged into the work of this agent, which has ended without success and is not part
    /// of the result.
    HeldBy(AgentId),
}

impl TaskRecord {
    /// Returns a worker's next step, or `None` if something else has to happen first.
    pub fn next_work(&self) -> Option<WorkStep> {
        match self.state() {
            TaskState::Ready => Some(WorkStep::Begin {
                attempt: self.attempt() + 1,
            }),
            TaskState::Running if !self.is_prepared() => Some(WorkStep::SetUp),
            TaskState::Running => Some(self.next_in_worktree()),
            TaskState::Committed => self.own_check(),
            _ => None,
        }
    }

    fn next_in_worktree(&self) -> WorkStep {
        if let (Some(from), Some(to)) = (self.behind(), self.tip()) {
            return WorkStep::BringFiles {
                from: from.clone(),
                to: to.clone(),
            };
        }
        self.owed_merge()
            .map_or(WorkStep::Drive, |onto| WorkStep::MergeInto {
                onto: onto.clone(),
            })
    }

    fn own_check(&self) -> Option<WorkStep> {
        let (command, tree) = (self.task.verify.clone()?, self.tree()?.clone());
        Some(WorkStep::Verify { command, tree })
    }

    /// Reports whether the task goes on from the files of its worktree, not from a commit.
    pub fn needs_worktree(&self) -> bool {
        let is_begun = self.state() == TaskState::Ready && self.attempt() > 0;
        is_begun || self.state().is_under_way()
    }

    /// Reports whether the task has failed, so that its branch holds an attempt from which nothing
    /// goes on by itself.
    pub fn has_failed(&self) -> bool {
        self.state() == TaskState::Failed
    }

    /// Reports whether the task's branch must be at its tip.
    pub fn needs_branch(&self) -> bool {
        // Preparing a worktree moves its branch, which may have to leave earlier work; an attempt
        // that failed before that left the branch unchanged.
        let stands = self.is_prepared() || self.state().is_handed_over();
        // Merged work is in the result, so its branch may be used freely.
        stands && !self.state().is_merged()
    }
}
