//! What the program that works on a run gives it, and is told of it.

pub(crate) mod approver;
pub(crate) mod callbacks;
pub(crate) mod live;
pub(crate) mod settings;
