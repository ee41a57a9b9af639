//! What is to be done for a task next, and what that needs: the rules that its worker, its worktree and its branch
//! follow.

use crate::ids::Oid;
use crate::task_record::TaskRecord;
use crate::task_state::TaskState;

/// What a worker does next for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkStep {
    /// Begins an attempt.
    Begin {
        /// Its number.
        attempt: u32,
    },
    /// Makes a new worktree ready.
    SetUp,
    /// Merges what the work was returned onto into the worktree.
    MergeInto {
        /// The commit.
        onto: Oid,
    },
    /// Lets the agent or the command go on.
    Drive,
    /// Runs the task's own check.
    Verify {
        /// The command.
        command: String,
        /// The tree of the work.
        tree: Oid,
    },
}

/// What a person has to know of a task whose run is landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandingConcern {
    /// The result has its work, which was rejected after it had been merged, and nothing has replaced it.
    RejectedInResult,
    /// It was built on work that was rejected after it had been merged.
    BuiltOnRejected,
    /// The result has nothing of it, although nobody has called it off.
    NotInResult,
}

impl TaskRecord {
    /// Returns what a worker does next, or `None` where another has to act first.
    pub fn next_work(&self) -> Option<WorkStep> {
        match self.state() {
            TaskState::Ready => Some(WorkStep::Begin { attempt: self.attempt() + 1 }),
            TaskState::Running if !self.is_prepared() => Some(WorkStep::SetUp),
            TaskState::Running => {
                Some(self.owed_merge().map_or(WorkStep::Drive, |onto| WorkStep::MergeInto { onto: onto.clone() }))
            }
            TaskState::Committed => self.own_check(),
            _ => None,
        }
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

    /// Reports whether the task's branch has to stand at its tip.
    pub fn needs_branch(&self) -> bool {
        // A worktree that is still to be prepared takes its branch along, which may have to leave earlier work; an
        // attempt that failed before that has left the branch where it was.
        let stands = self.is_prepared() || self.state().is_handed_over();
        // What is merged is in the result, and what a person does with its branch stands against nothing.
        stands && !self.state().is_merged()
    }

    /// Returns what a person has to know of the task when the run is landed, or `None` if all is as planned.
    pub fn landing_concern(&self) -> Option<LandingConcern> {
        if self.is_rejected_in_result() {
            Some(LandingConcern::RejectedInResult)
        } else if self.is_stale() && !self.merged().is_empty() {
            Some(LandingConcern::BuiltOnRejected)
        } else if !matches!(self.state(), TaskState::Merged | TaskState::Cancelled) {
            Some(LandingConcern::NotInResult)
        } else {
            None
        }
    }
}
