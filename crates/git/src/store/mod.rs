//! Objects: stores a worktree's files as a tree, and reads and compares trees and commits. No
//! program is run.

pub(crate) mod brought;
pub(crate) mod conflicts;
pub(crate) mod diff;
mod kept_out;
pub(crate) mod objects;
pub(crate) mod overlay;
pub(crate) mod recorded;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod snapshot;
pub(crate) mod stage;
pub(crate) mod walk;
