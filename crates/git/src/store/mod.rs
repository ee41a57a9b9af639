//! How a worktree's files become a tree without a program being run.

pub(crate) mod bounds;
pub(crate) mod glob;
pub(crate) mod ignore;
pub(crate) mod openat;
pub(crate) mod snapshot;
pub(crate) mod stage;
pub(crate) mod walk;
