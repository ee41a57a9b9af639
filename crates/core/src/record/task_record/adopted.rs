//! A person's commit as a task's work, and the rest of what an agent had made.

use crate::event::{AdoptedWork, Illegal};
use crate::ids::BlobId;
use crate::record::task_record::TaskRecord;
use crate::record::task_record::stage::{End, Stage, Work};
use crate::record::task_record::started::{Chosen, Started};
use crate::task::{Task, TaskState, Verify};

impl Started {
    /// Makes a person's commit the finished work. The agent, if it still had anything to do, has
    /// ended.
    pub(super) fn adopt(&mut self, adopted: &AdoptedWork, task: &Task) -> Result<(), Illegal> {
        use TaskState::{AwaitingReview, Cancelled, Conflicted, Failed, Verified};
        self.require(&[Verified, AwaitingReview, Failed, Conflicted, Cancelled])?;
        if self.stage.end().is_some_and(End::is_given_up) {
            return Err(self.refusal());
        }
        let AdoptedWork {
            commit,
            tree,
            approved,
            rest,
            admitted,
            ..
        } = adopted;
        // What looks like a secret stays withheld, unless the person has taken it.
        let mut aside = self.branch.aside.clone();
        aside.withheld.retain(|file| !admitted.contains(&file.path));
        self.branch.advance(commit, &[], &aside);
        if let Some(snapshot) = &mut self.branch.snapshot {
            snapshot.tree.clone_from(tree);
        }
        self.committed(
            Work {
                commit: commit.clone(),
                tree: tree.clone(),
                verify: Verify::None,
            },
            task,
        );
        let is_part = self.chosen.is_part;
        self.chosen = Chosen {
            approved: approved.then(|| tree.clone()),
            rest: rest.clone(),
            is_part,
        };
        if let Stage::Verified { is_approved, .. } = &mut self.stage {
            *is_approved = *approved;
        }
        Ok(())
    }
}

impl TaskRecord {
    /// Reports whether its work was rejected after it was merged, and nothing has replaced it.
    pub fn is_rejected_in_result(&self) -> bool {
        self.state() != TaskState::Merged && !self.merged().is_empty() && !self.works_on_rest()
    }

    /// Reports whether a part of its work was merged as the user has chosen it, and its agent works
    /// on the rest.
    pub fn works_on_rest(&self) -> bool {
        self.started().is_some_and(|started| started.chosen.is_part)
    }

    /// Returns the message with which the rest of its work is returned once the part that the user
    /// chose is merged.
    pub fn rest(&self) -> Option<&BlobId> {
        self.started()?.chosen.rest.as_ref()
    }

    /// Reports whether a person's commit may become its finished work: its agent has ended, or has
    /// handed over.
    pub(crate) fn may_be_adopted(&self) -> bool {
        use TaskState::{AwaitingReview, Cancelled, Conflicted, Failed, Verified};
        let is_open = matches!(
            self.state(),
            Verified | AwaitingReview | Failed | Conflicted | Cancelled
        );
        // Files that are behind the branch would take back what was merged into it.
        is_open && self.branch().is_some() && self.behind().is_none() && !self.is_given_up()
    }
}
