//! Where results are kept for replay, and how several processes share them.
//!
//! A [`Cache`] is a folder of the user's. Each entry is one file: whose result it is
//! ([`Identity`]), then what was written, piece by piece and in order, then a hash over all of it.
//! An entry is written under a temporary name and renamed when it is whole, so that no process ever
//! reads half of one. Entries that were used least recently are removed once the folder is larger
//! than its limit.

mod cache;
mod entry;
mod error;
mod folder;
mod recording;

pub use cache::{Cache, Cleared, Lookup, Statistics};
pub use entry::{Entry, Identity, Stream};
pub use error::CacheError;
pub use recording::Recording;
