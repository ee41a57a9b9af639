//! What the processes of a worktree see: its files, and of git's those that they may read.

pub(crate) mod private_git_dir;
mod seen;
pub(crate) mod shown;
pub(crate) mod shown_refs;
pub(crate) mod stand_in;
