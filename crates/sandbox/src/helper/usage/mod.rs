//! Measures what a job's processes use, and finds and ends them.

pub(crate) mod disk;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod tree;
