//! The kit for testing tools, which plugin authors use as well: a harness whose services are fakes,
//! and the checks that every tool has to pass.

pub mod conformance;
mod git;
pub mod harness;
mod web;
