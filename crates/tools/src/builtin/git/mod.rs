//! Tools for the agent's own branch, carried out by the coordinator.

mod branch;
mod commit;
mod merge;
mod paths;
mod read;
mod stash;
mod wording;

pub(super) use branch::{GitBranch, GitCheckout};
pub(super) use commit::{GitAdd, GitCommit};
pub(super) use merge::GitMerge;
pub(super) use read::{GitDiff, GitLog, GitStatus};
pub(super) use stash::GitStash;
