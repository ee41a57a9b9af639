//! Maps that are cheap to copy, since copies share what they have in common, and a mutex.
//!
//! Hides the tree that the maps are made of, and that a mutex can be poisoned.

mod mutex;
mod shared_map;

pub use mutex::Mutex;
pub(crate) use shared_map::{IdMap, SharedMap, SharedSet, update};
