//! The commands that show a run, and what only they show.

pub(crate) mod log;
pub(crate) mod status;
pub(crate) mod watch;
mod worktree_sizes;
