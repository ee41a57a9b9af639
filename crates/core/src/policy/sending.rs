//! How an agent could send data out, as a value that is recorded with it.
//!
//! Only when an agent begins are its tools, its rules and its sandbox known together, so that is
//! when it is decided ([`crate::secrecy::taint::Means`]).

use serde::{Deserialize, Serialize};

/// How an agent could send data out with the tools that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sending {
    /// By a call that somebody is asked about first.
    Asked,
    /// By a call that nobody is asked about.
    Allowed,
}
