//! Removes what a run no longer needs: worktrees, branches, or all of it.

pub(crate) mod discard;
pub(crate) mod landed_runs;
pub(crate) mod stored_worktree;
pub(crate) mod worktrees;
