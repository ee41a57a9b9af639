//! Merges without a checkout, their conflicts, and differences between trees.

pub(crate) mod conflict;
pub(crate) mod diff;
pub(crate) mod markers;
pub(crate) mod merge_tree;
