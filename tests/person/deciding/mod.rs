//! What waits for a person: work to review, calls to approve, files to keep out, tasks to drop.

pub(super) mod approvals;
pub(super) mod by_hand;
pub(super) mod dropping;
pub(super) mod kept_out;
pub(super) mod permissions;
pub(super) mod requests;
pub(super) mod review;
pub(super) mod waiting;
