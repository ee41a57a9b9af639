//! What a run knows of one task: a fold over the task's events, and what follows from it for the
//! task alone.
//!
//! Hides which data exists in which state of the task.

mod check_receipt;
mod hand_over;
mod task_failure;
mod task_record;
mod task_records;
mod work_step;

pub use check_receipt::{CheckReceipt, CheckVerdict, CheckedBy};
pub use hand_over::{
    ChildrenSettled, FinishedWork, HandOver, HandOverFinding, HandOverOutcome, HandOverStep,
};
pub use task_failure::{AfterFault, AfterReview, GivenUp, ReviewEnd, VerdictEnd, WithoutChanges};
pub use task_record::{MergedAttempt, Outage, Repair, Snapshot, TakeOver, TaskRecord};
pub(crate) use task_records::{Changes, TaskRecords};
pub use work_step::{LandingConcern, WorkStep};
