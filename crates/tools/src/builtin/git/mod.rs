//! Tools for the agent's own branch, here and in remote repositories, carried out by the
//! coordinator.

mod branch;
mod commit;
mod merge;
mod read;
mod remote;
mod stash;
mod wording;

pub(super) use branch::{GitBranch, GitCheckout};
pub(super) use commit::{GitAdd, GitCommit};
pub(super) use merge::GitMerge;
pub(super) use read::{GitDiff, GitLog, GitStatus};
pub(super) use remote::{GitPull, GitPush};
pub(super) use stash::GitStash;
