//! Reads which tasks are done, under way, or not to be done now.

pub(crate) mod done;
pub(crate) mod not_now;
pub(crate) mod said;
pub(crate) mod status;
