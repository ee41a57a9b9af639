//! Merges tasks into the integration branch: one step at a time, each verified before the branch
//! moves.

pub(crate) mod base;
pub(crate) mod exact_tree;
pub(crate) mod integration_branch;
mod return_to_agent;
pub(crate) mod step;
