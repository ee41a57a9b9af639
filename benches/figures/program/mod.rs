//! The program from outside, its build, and the plans that it reads.

pub(crate) mod build;
pub(crate) mod large;
pub(crate) mod plans;
pub(crate) mod start;
