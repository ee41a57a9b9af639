//! The guarantees of a journal: durable appends, one writer per run, requests that arrive, and
//! damaged files that are not modified.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start themselves again, to be killed"
)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up or compare fails"
)]

mod blobs;
mod children;
mod crash;
mod damage;
mod inbox;
mod lease;
mod removal;
mod replay;
mod sequencer;
mod support;
