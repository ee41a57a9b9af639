//! Stops a run while the worktree of an earlier attempt becomes that of a new one, which begins with
//! other files: the new attempt has those alone.

use super::full_disk::at_fact;
use super::reviewed;
use crate::support::{Case, Outcome, case};

pub(super) fn cases() -> Vec<Case> {
    vec![case!(
        "kill",
        before_a_new_worktree_is_recorded_its_files_are_new
    )]
}

/// The third worktree that is prepared is the reviewer's for the work that it has sent back.
fn before_a_new_worktree_is_recorded_its_files_are_new() -> Outcome {
    at_fact(reviewed()?, "worktree.prepared@3")
}
