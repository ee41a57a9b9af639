//! The formats of profiles.

use serde::{Deserialize, Serialize};

/// What wrote a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileFormat {
    /// Folded stacks: `main;work;sort 42`.
    Folded,
    /// What `perf script` prints.
    PerfScript,
    /// A profile in the format of pprof, compressed or not.
    Pprof,
    /// The table that cProfile prints.
    Cprofile,
    /// Estimates or samples of criterion, or the messages of cargo-criterion.
    Criterion,
}

impl ProfileFormat {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            ProfileFormat::Folded => "folded stacks",
            ProfileFormat::PerfScript => "perf script",
            ProfileFormat::Pprof => "pprof",
            ProfileFormat::Cprofile => "cProfile",
            ProfileFormat::Criterion => "criterion",
        }
    }
}
