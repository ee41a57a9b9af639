//! What follows from a verdict, for the reviewing task and for those that it names.

use crate::record::task_failure::AfterFault;
use crate::task::verdict::RequestedChange;

/// What follows when a reviewing task's agent ends with a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerdictEnd {
    /// The task ends, and the work that it reviewed may be merged.
    Approve,
    /// The task ends, since there was nothing to review.
    NothingToDo,
    /// The task waits for new work.
    Await(Vec<AfterReview>),
}

/// A task that has to change its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfterReview {
    /// The requested change.
    pub change: RequestedChange,
    /// Whether the task may try once more.
    pub after: AfterFault,
}
