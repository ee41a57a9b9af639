//! Creates, commits and replaces the worktrees of tasks.

pub(crate) mod commit;
pub(crate) mod link;
pub(crate) mod worktrees;
