//! Tests of the git crate on real repositories: data in, whole values out.
#![expect(clippy::disallowed_methods, reason = "tests run git beside the crate")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may fail loudly"
)]

mod attack;
mod configuration;
mod conflict;
mod land;
mod merge;
mod partial_clone;
mod refs;
mod refuse;
mod remote;
mod store;
mod support;
mod switching;
mod worktree;
