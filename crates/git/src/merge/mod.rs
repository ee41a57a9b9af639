//! Merges without a checkout, and their conflicts.

pub(crate) mod conflict;
pub(crate) mod hunks;
pub(crate) mod merge_tree;
