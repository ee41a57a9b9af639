//! Files of worktrees that are stored, and what is left out of what is stored.

mod kept_out;
mod names;
mod patterns;
mod snapshot;
