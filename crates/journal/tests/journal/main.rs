//! What one can rely on: durable appends, one writer per run, commands that arrive, and damage that is left alone.
#![expect(clippy::disallowed_methods, reason = "tests start themselves again, to be killed")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot set up or compare fails")]

mod blobs;
mod children;
mod crash;
mod damage;
mod inbox;
mod lease;
mod replay;
mod sequencer;
mod support;
