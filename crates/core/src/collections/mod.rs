//! Maps that are cheap to copy, since copies share what they have in common.
//!
//! Hides the tree that they are made of.

mod shared_map;

pub(crate) use shared_map::{IdMap, SharedMap, SharedSet, update};
