//! The commands about the result of a run, and about what is left of runs.

pub(crate) mod clean;
pub(crate) mod discard;
pub(crate) mod land;
pub(crate) mod recover;
