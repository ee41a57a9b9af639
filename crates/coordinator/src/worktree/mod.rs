//! Creates, commits and replaces the worktrees of tasks.

pub(crate) mod commit;
pub(crate) mod git_link;
pub(crate) mod worktrees;
