//! A task's branch and its worktree.

use serde::{Deserialize, Serialize};

use crate::ids::Oid;
use crate::task::{ChangedPath, LeftAside};

/// A merge that was written into an agent's worktree; its conflicting files follow from its two
/// sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// The integration branch's tip at that moment.
    pub onto: Oid,
    /// The tip of the agent's branch at that moment.
    pub tip: Oid,
}

/// A snapshot of a task's worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the snapshot within its task, from 1.
    pub number: u32,
    /// Its tree.
    pub tree: Oid,
}

/// A task's branch, and the worktree that it is checked out in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Branch {
    /// The branch's short name.
    pub(super) name: String,
    /// The commit that the newest attempt started from.
    pub(super) base: Oid,
    /// Its tip; the ref may still have to follow.
    pub(super) tip: Oid,
    /// The commit that is merged into the worktree and becomes the next commit's second parent.
    pub(super) onto: Option<Oid>,
    /// The conflict that its agent is resolving, until the work is handed over.
    pub(super) repair: Option<Repair>,
    /// The state of the worktree.
    pub(super) worktree: Worktree,
    /// The commit of the newest snapshot of the work since the branch was last restarted.
    pub(super) kept: Option<Oid>,
    /// The newest snapshot, as long as the branch's tip may lack some of its files.
    pub(super) unfinished: Option<Oid>,
    /// The commit whose files the worktree still has, although work has been merged into the branch
    /// since.
    pub(super) behind: Option<Oid>,
    /// Whether the work of other agents was merged into the branch.
    pub(super) has_childrens_work: bool,
    /// The existing tests that this work changes or deletes.
    pub(super) childrens_tests: Vec<ChangedPath>,
    /// The newest snapshot.
    pub(super) snapshot: Option<Snapshot>,
    /// The paths that git could not store in the newest snapshot that became the tip.
    pub(super) left_out: Vec<String>,
    /// What that snapshot left in the worktree on purpose.
    pub(super) aside: LeftAside,
}

/// The state of a task's worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Worktree {
    /// It has to be created.
    Missing,
    /// It exists, and its setup has run.
    Prepared,
    /// The commit that the work was returned onto is merged into it, too.
    BaseMerged,
}

impl Branch {
    /// Creates a branch that starts at a commit.
    pub(super) fn new(name: String, base: Oid) -> Self {
        Self {
            name,
            tip: base.clone(),
            base,
            onto: None,
            repair: None,
            worktree: Worktree::Missing,
            kept: None,
            unfinished: None,
            behind: None,
            has_childrens_work: false,
            childrens_tests: Vec::new(),
            snapshot: None,
            left_out: Vec::new(),
            aside: LeftAside::default(),
        }
    }

    /// Makes the next attempt start at a commit, whatever the branch contains.
    pub(super) fn restart(&mut self, base: &Oid) {
        (self.base, self.tip) = (base.clone(), base.clone());
        (self.onto, self.repair) = (None, None);
        (self.kept, self.unfinished) = (None, None);
        self.has_childrens_work = false;
        self.childrens_tests.clear();
        self.aside = LeftAside::default();
        self.lose_worktree();
    }

    /// Records that the worktree is gone; the next one begins with the newest files that are known.
    pub(super) fn lose_worktree(&mut self) {
        (self.worktree, self.behind) = (Worktree::Missing, None);
    }

    /// Makes a merge of another agent's work, which changes these tests, the branch's tip. The
    /// worktree's files have to follow.
    pub(super) fn take_in(&mut self, commit: &Oid, tests: Vec<ChangedPath>) {
        if self.worktree != Worktree::Missing && self.behind.is_none() {
            self.behind = Some(self.tip.clone());
        }
        self.tip = commit.clone();
        // The worktree was committed before.
        self.unfinished = None;
        self.has_childrens_work = true;
        self.childrens_tests.extend(tests);
    }

    /// Records a snapshot beside the branch.
    pub(super) fn keep(&mut self, commit: &Oid, aside: &LeftAside) {
        self.kept = Some(commit.clone());
        self.aside = self.aside.with_boxes_of(aside);
        // Files that are behind the tip would take back what was merged into it.
        if self.behind.is_none() {
            self.unfinished = Some(commit.clone());
        }
    }

    /// Records that the worktree's setup has run, that the commit that work was returned onto is
    /// merged into it, or that it has the files of the branch's tip.
    pub(super) fn prepared(&mut self, onto: Option<&Oid>) {
        if onto == Some(&self.tip) && self.behind.take().is_some() {
            return;
        }
        self.worktree = match (onto, self.worktree) {
            (None, Worktree::Missing) => Worktree::Prepared,
            (Some(_), Worktree::Prepared) => Worktree::BaseMerged,
            (_, worktree) => worktree,
        };
    }

    /// Requires that a commit is merged into the worktree before the agent continues.
    pub(super) fn return_onto(&mut self, onto: &Oid) {
        self.repair = Some(Repair {
            onto: onto.clone(),
            tip: self.tip.clone(),
        });
        self.onto = Some(onto.clone());
        if self.worktree == Worktree::BaseMerged {
            self.worktree = Worktree::Prepared;
        }
    }

    /// Returns the commit that the work was returned onto, if it still has to be merged into the
    /// worktree.
    pub(super) fn owed_merge(&self) -> Option<&Oid> {
        self.onto
            .as_ref()
            .filter(|_| self.worktree != Worktree::BaseMerged)
    }

    /// Makes a snapshot the branch's tip.
    pub(super) fn advance(&mut self, commit: &Oid, left_out: &[String], aside: &LeftAside) {
        (self.tip, self.kept) = (commit.clone(), Some(commit.clone()));
        (self.onto, self.unfinished) = (None, None);
        self.left_out = left_out.to_vec();
        self.aside = aside.with_boxes_of(&self.aside);
    }
}
