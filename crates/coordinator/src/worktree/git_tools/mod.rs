//! What agents ask of git, carried out in their worktrees.

pub(crate) mod branch;
pub(crate) mod checkout;
pub(crate) mod commit;
pub(crate) mod merge;
mod own_commits;
mod rehearsal;
pub(crate) mod remote;
pub(crate) mod selection;
pub(crate) mod stash;
pub(crate) mod status;
