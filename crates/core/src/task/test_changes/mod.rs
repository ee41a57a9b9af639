//! What a change does to existing tests: whether it deletes or weakens some, by the text of both
//! versions.
//!
//! The rules read lines, not syntax trees: they work for a file that no parser accepts, take time
//! and memory in proportion to its size, and say what they have found. A test is known by its name,
//! so that one which moves to another file is still there. Deliberately absent: any judgement
//! whether a test still tests something.

mod dialects;
mod reading;
mod weakening;

pub use weakening::{FileVersions, reads_tests_of, weakened_tests};
