//! Worktrees: made, filled, exchanged and removed.

mod exchange;
mod include;
mod lfs;
mod made;
mod private;
mod source_times;
mod submodules;
mod worktrees;
