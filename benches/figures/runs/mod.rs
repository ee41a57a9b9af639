//! Whole runs in this process, or in one of its own.

pub(crate) mod agents;
pub(crate) mod dispatch;
pub(crate) mod fleet;
pub(crate) mod journal;
pub(crate) mod merges;
pub(crate) mod messages;
mod played_run;
pub(crate) mod shells;
pub(crate) mod spawns;
pub(crate) mod turns;
