//! Work: how it is checked, reviewed, merged, dropped, or replaced by a person's own.

mod actions;
mod adopting;
mod dropping;
mod flaky_checks;
mod holds;
mod merge_targets;
mod verdict;
