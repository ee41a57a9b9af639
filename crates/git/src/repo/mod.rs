//! The repository as a whole: opening and probing it, its refs, and what its worktrees, submodules
//! and trees are.

pub(crate) mod create;
pub(crate) mod gc;
pub(crate) mod glance;
pub(crate) mod lfs;
pub(crate) mod probe;
pub(crate) mod refs;
pub(crate) mod repository;
pub(crate) mod secrets;
pub(crate) mod submodules;
pub(crate) mod tree_files;
pub(crate) mod worktree;
