//! Merges tasks into the integration branch: one step at a time, each verified before the branch
//! moves.

pub(crate) mod base;
pub(crate) mod base_outputs;
pub(crate) mod base_setup;
pub(crate) mod checks;
pub(crate) mod exact_tree;
pub(crate) mod green;
pub(crate) mod integration_branch;
pub(crate) mod partial_clone;
pub(crate) mod prepare;
pub(crate) mod project_setup;
mod return_to_agent;
pub(crate) mod setup;
pub(crate) mod setup_files;
pub(crate) mod setup_network;
pub(crate) mod step;
mod target_branch;
pub(crate) mod verifier;
pub(crate) mod warm;
