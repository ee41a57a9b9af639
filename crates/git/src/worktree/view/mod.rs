//! What the processes of a worktree see: its files, and the git directory of its own.

mod git_mounts;
mod seen;
mod stand_in;
