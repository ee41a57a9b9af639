//! Merges without a checkout, their conflicts, and what two trees differ in.

pub(crate) mod conflict;
pub(crate) mod diff;
pub(crate) mod markers;
pub(crate) mod merge_tree;
