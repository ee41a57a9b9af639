//! Profiles: which functions and which paths take how much, in the formats of common profilers.
//!
//! Functions are counted exactly, whatever the size of a profile. The paths are those of a call
//! tree that has a largest size; what has no place in it is counted as left out.

mod benchmarks;
mod cprofile;
mod damage;
mod model;
mod pprof;
mod read;
mod stacks;
mod text;

pub use damage::ProfileFormat;
pub use model::{HotFunction, HotPath, LeftOut, PerformanceAnalysis};
pub use read::MAX_PROFILE_BYTES;
