//! What happens when finished work is handed over: the steps of its worker, the outcome, and what
//! comes before for an agent.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::task::Delivers;

/// What happens when an agent hands its work over.
#[derive(Clone, Debug, PartialEq)]
pub enum HandOver {
    /// The work is handed over.
    Now,
    /// The agent reads its messages first.
    AfterMessages,
    /// The agent waits for those that it spawned; this event is recorded.
    AfterChildren(Box<Event>),
    /// The agent is told first what has become of those that it spawned.
    AfterNews,
}

/// What is next for an agent that would hand its work over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChildrenSettled {
    /// The work is handed over.
    Done,
    /// The agent has something to do first.
    WorkLeft,
    /// The agent waits for its children.
    Waits,
}

/// What becomes of finished work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOverOutcome {
    /// Conflicts are left in its files, which are resolved first.
    Conflicted,
    /// What its report claims is not taken.
    ClaimsRefused,
    /// Its agent has something to do first.
    WorkLeft,
    /// Its agent waits for its children.
    Waits,
    /// It is a review, which ends with a verdict.
    Review,
    /// It is a plan, which is its task's result if it can be run.
    Plan,
    /// Its report is its task's result.
    Report,
    /// It changes nothing.
    Unchanged,
    /// It is a commit, which is checked and merged.
    Commit,
}

/// A step of a worker that hands finished work over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOverStep {
    /// Looks for conflicts that are left in the files.
    FindConflicts,
    /// Stores the files beside the result, and judges what the report claims.
    KeepFiles,
    /// Commits the files to the task's branch.
    CommitFiles,
    /// Lets the agent wait for its children, or be told what has become of them.
    SettleChildren,
    /// Looks for changes.
    FindChanges,
    /// Records what the work changes, and judges what the report claims by that.
    Compare,
    /// Carries the outcome out.
    End(HandOverOutcome),
}

/// What the newest step of a worker that hands finished work over has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOverFinding {
    /// There was no step yet.
    Nothing,
    /// Whether conflicts are left in the files.
    Conflicts {
        /// Whether there are some.
        are_left: bool,
    },
    /// The files are stored beside the result.
    Kept {
        /// Whether what the report claims is taken.
        takes_claims: bool,
    },
    /// The files are committed.
    Committed,
    /// What is next because of the agent's children.
    Settled {
        /// What is next.
        children: ChildrenSettled,
        /// Whether work of theirs was merged into the task's branch.
        is_with_work: bool,
    },
    /// Whether the work changes anything.
    Changes {
        /// Whether it does.
        are_found: bool,
    },
    /// What the work changes is recorded.
    Compared {
        /// Whether what the report claims is taken.
        takes_claims: bool,
    },
}

/// Finished work, as far as it is known without a look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedWork {
    /// What its role delivers.
    pub delivers: Delivers,
    /// Whether its task is to give a verdict on others.
    pub is_review: bool,
}

impl FinishedWork {
    /// Returns the next step of the worker that hands the work over.
    pub fn next_step(self, found: HandOverFinding) -> HandOverStep {
        use HandOverFinding::{Changes, Committed, Compared, Conflicts, Kept, Nothing, Settled};
        match found {
            Nothing => HandOverStep::FindConflicts,
            Conflicts { are_left: true } => HandOverStep::End(HandOverOutcome::Conflicted),
            Conflicts { are_left: false } if self.delivers.is_report() => HandOverStep::KeepFiles,
            Conflicts { are_left: false } => HandOverStep::CommitFiles,
            Kept { takes_claims: true } | Committed => HandOverStep::SettleChildren,
            Settled {
                children,
                is_with_work,
            } => self.after_children(children, is_with_work),
            Changes { are_found: false } => HandOverStep::End(HandOverOutcome::Unchanged),
            Changes { are_found: true } => HandOverStep::Compare,
            Compared { takes_claims: true } => HandOverStep::End(HandOverOutcome::Commit),
            Kept {
                takes_claims: false,
            }
            | Compared {
                takes_claims: false,
            } => HandOverStep::End(HandOverOutcome::ClaimsRefused),
        }
    }

    fn after_children(self, children: ChildrenSettled, is_with_work: bool) -> HandOverStep {
        match children {
            ChildrenSettled::WorkLeft => HandOverStep::End(HandOverOutcome::WorkLeft),
            ChildrenSettled::Waits => HandOverStep::End(HandOverOutcome::Waits),
            ChildrenSettled::Done if !self.delivers.is_report() => HandOverStep::FindChanges,
            ChildrenSettled::Done if self.is_review => HandOverStep::End(HandOverOutcome::Review),
            // The work of its children is handed over with its report.
            ChildrenSettled::Done if is_with_work => HandOverStep::FindChanges,
            ChildrenSettled::Done if self.delivers == Delivers::Plan => {
                HandOverStep::End(HandOverOutcome::Plan)
            }
            ChildrenSettled::Done => HandOverStep::End(HandOverOutcome::Report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(delivers: Delivers, is_review: bool) -> FinishedWork {
        FinishedWork {
            delivers,
            is_review,
        }
    }

    fn settled(children: ChildrenSettled, is_with_work: bool) -> HandOverFinding {
        HandOverFinding::Settled {
            children,
            is_with_work,
        }
    }

    #[test]
    fn what_becomes_of_finished_work_follows_from_what_its_worker_finds() {
        use HandOverFinding::{Changes, Committed, Compared, Conflicts, Kept, Nothing};
        use HandOverOutcome::{
            ClaimsRefused, Commit, Conflicted, Plan, Report, Review, Unchanged, Waits, WorkLeft,
        };
        use HandOverStep::{
            CommitFiles, Compare, End, FindChanges, FindConflicts, KeepFiles, SettleChildren,
        };
        let works = [
            work(Delivers::Changes, false),
            work(Delivers::Changes, true),
            work(Delivers::Report, false),
            work(Delivers::Verdict, false),
            work(Delivers::Plan, false),
            work(Delivers::Verdict, true),
        ];
        let (commit, keep) = (CommitFiles, KeepFiles);
        let (find, report) = (FindChanges, End(Report));
        // What the newest step has found, and what is next for each of these works.
        let table = [
            (Nothing, [FindConflicts; 6]),
            (Conflicts { are_left: true }, [End(Conflicted); 6]),
            (
                Conflicts { are_left: false },
                [commit, commit, keep, keep, keep, keep],
            ),
            (
                Kept {
                    takes_claims: false,
                },
                [End(ClaimsRefused); 6],
            ),
            (Kept { takes_claims: true }, [SettleChildren; 6]),
            (Committed, [SettleChildren; 6]),
            (settled(ChildrenSettled::WorkLeft, true), [End(WorkLeft); 6]),
            (settled(ChildrenSettled::Waits, true), [End(Waits); 6]),
            (
                settled(ChildrenSettled::Done, false),
                [find, find, report, report, End(Plan), End(Review)],
            ),
            (
                settled(ChildrenSettled::Done, true),
                [find, find, find, find, find, End(Review)],
            ),
            (Changes { are_found: false }, [End(Unchanged); 6]),
            (Changes { are_found: true }, [Compare; 6]),
            (
                Compared {
                    takes_claims: false,
                },
                [End(ClaimsRefused); 6],
            ),
            (Compared { takes_claims: true }, [End(Commit); 6]),
        ];
        for (found, expected) in table {
            assert_eq!(
                works.map(|work| work.next_step(found)),
                expected,
                "{found:?}"
            );
        }
    }
}
