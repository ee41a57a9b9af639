//! Converts a worktree's files to a tree without running a program.

pub(crate) mod bounds;
pub(crate) mod glob;
pub(crate) mod ignore;
pub(crate) mod openat;
pub(crate) mod snapshot;
pub(crate) mod stage;
pub(crate) mod walk;
