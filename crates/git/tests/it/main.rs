//! Tests of the git crate on real repositories: data in, whole values out.
#![expect(clippy::disallowed_methods, reason = "tests run git beside the crate")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may fail loudly"
)]

mod support;
mod switching;

mod attack;
mod configuration;
mod conflict;
mod exchange;
mod include;
mod kept_out;
mod land;
mod lfs;
mod made;
mod merge;
mod names;
mod partial_clone;
mod patterns;
mod refs;
mod refuse;
mod remote;
mod snapshot;
mod source_times;
mod submodules;
mod worktree;
