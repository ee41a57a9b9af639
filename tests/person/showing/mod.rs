//! What is shown of a run, while it goes on and later.

pub(super) mod display;
pub(super) mod json;
pub(super) mod next_steps;
pub(super) mod output;
pub(super) mod status;
pub(super) mod trees;
pub(super) mod watch;
