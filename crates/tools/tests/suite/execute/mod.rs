//! Tests of how a call is executed: its errors, its records, and its replay.

pub(crate) mod conformance;
pub(crate) mod errors;
pub(crate) mod failures;
pub(crate) mod records;
pub(crate) mod replay;
