//! The commands about tools: which there are, calls of the user's own, their stored results, and
//! the log of a run's calls.

pub(crate) mod audit;
pub(crate) mod cache;
pub(crate) mod tool;
pub(crate) mod tools;
