//! What is done with a run once it has ended: review, landing, cleaning, boxes of the plan.

pub(crate) mod archive;
pub(crate) mod boxes;
pub(crate) mod clean;
pub(crate) mod land;
pub(crate) mod moved;
pub(crate) mod refusal;
pub(crate) mod review;
