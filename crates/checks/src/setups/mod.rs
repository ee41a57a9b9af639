//! The setup of a project: on its base once, and in every worktree.

pub(crate) mod base_setup;
pub(crate) mod project_setup;
pub(crate) mod setup;
pub(crate) mod setup_files;
pub(crate) mod site;
pub mod verifier;
pub mod warm;
