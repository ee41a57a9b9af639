//! The tracked files of a worktree: written, exchanged and reset. No program that the repository
//! names is run.

pub(crate) mod exchange;
pub(crate) mod filling;
pub(crate) mod lfs_files;
pub(crate) mod reset;
pub(crate) mod rewrite;
pub(crate) mod source_times;
pub(crate) mod submodules;
