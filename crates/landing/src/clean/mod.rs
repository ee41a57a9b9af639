//! Removes what a run no longer needs: worktrees, branches, or all of it.

pub(crate) mod cleaning;
pub(crate) mod discard;
pub(crate) mod prune;
pub(crate) mod stored_worktree;
