//! One run: its state, a fold over its events, and what may happen next in it.
//!
//! Hides how the tasks of a run depend on each other, and what there is to do in which order.

mod agenda;
mod asked_wait;
pub mod board;
pub mod child;
mod child_id;
pub mod feed;
mod mailboxes;
pub mod merge_queue;
mod outcome;
mod parked_call;
pub mod request;
mod routing;
mod run_branches;
mod run_state;

pub use asked_wait::{AskedWait, Expiring, Expiry, WaitDecision};
pub use board::ShutdownLevel;
pub use child_id::child_ids;
pub use outcome::{
    EXIT_DENIED, EXIT_FAILED, EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_LIMIT, EXIT_NEEDS_HUMAN,
    EXIT_OK, EXIT_TERMINATED, EXIT_USAGE, outcome, outcome_if_not_landed, outcome_if_stopped,
};
pub use parked_call::{is_whole, shown_hash, stream_json_with_hash};
pub use routing::{Delivery, NotSent, QuestionEnd, Receipt, Routed};
pub use run_branches::{RunBranches, TaskBranch, WorkSpan};
pub use run_state::holds::Hold;
pub use run_state::{Approval, ApprovalDecision, Landing, LandingOutcome, Limit, RunState};
