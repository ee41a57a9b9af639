//! Whole runs, told event by event: what follows from them, and what is invalid. One binary, so
//! that it links once.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story that cannot be told fails the test"
)]

mod agents;
mod facts;
mod run;
mod story;
mod work;
