//! Runs the project's own commands, its setup and its checks, in worktrees in which no agent works.

pub(crate) mod base_outputs;
pub(crate) mod base_setup;
pub(crate) mod check;
pub(crate) mod green;
pub(crate) mod project_setup;
pub(crate) mod running_checks;
pub(crate) mod setup_files;
pub(crate) mod setup_network;
pub(crate) mod verifier;
