//! What is stored of a task's work besides the tip of its branch.

use super::TaskRecord;
use super::branch::Snapshot;
use crate::ids::{Oid, RunId};
use crate::task::{ChangedPath, LeftAside, TaskState};

impl TaskRecord {
    /// Returns the trailers of the commits that are made for it.
    pub fn trailers(&self, run: &RunId) -> Vec<(String, String)> {
        let mut trailers = Vec::new();
        if let Some(model) = self.model() {
            trailers.push(("Assisted-by".to_owned(), format!("orchestrate:{model}")));
        }
        trailers.push(("Orchestrate-Run".to_owned(), run.to_string()));
        trailers.push(("Orchestrate-Task".to_owned(), self.task.id.to_string()));
        if let Some(agent) = self.agent() {
            trailers.push(("Orchestrate-Agent".to_owned(), agent.to_owned()));
        }
        trailers
    }

    /// Returns the newest snapshot.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.branched()?.snapshot.as_ref()
    }

    /// Returns the commit of the newest snapshot of its work, on its branch or beside it.
    pub fn kept(&self) -> Option<&Oid> {
        self.branched()?.kept.as_ref()
    }

    /// Returns the newest snapshot's commit, as long as the branch's tip may lack some of its
    /// files.
    pub fn unfinished(&self) -> Option<&Oid> {
        self.branched()?.unfinished.as_ref()
    }

    /// Returns the commit with its newest work if it has ended without success and its branch lacks
    /// some of that.
    pub fn left_unfinished(&self) -> Option<&Oid> {
        let has_ended = matches!(
            self.state(),
            TaskState::Failed | TaskState::Conflicted | TaskState::Cancelled
        );
        self.unfinished().filter(|_| has_ended)
    }

    /// Returns the commit whose files a worktree that is made again begins with, besides those of
    /// the branch's tip.
    pub fn lost_files(&self) -> Option<&Oid> {
        // A merge that is owed begins with the tip.
        self.unfinished()
            .filter(|_| !self.is_prepared() && self.onto().is_none())
    }

    /// Returns what the newest snapshot that became the branch's tip has left in the worktree on
    /// purpose.
    pub fn aside(&self) -> &LeftAside {
        static NOTHING: LeftAside = LeftAside {
            scratch: Vec::new(),
            more_scratch: 0,
            withheld: Vec::new(),
            boxes: Vec::new(),
        };
        self.branched().map_or(&NOTHING, |branch| &branch.aside)
    }

    /// Returns the existing tests that the work of its children changes or deletes.
    pub(crate) fn childrens_tests(&self) -> &[ChangedPath] {
        self.branched()
            .map_or(&[], |branch| &branch.childrens_tests)
    }
}
