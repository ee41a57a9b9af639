//! Maps that are cheap to copy, since copies share what they have in common.
//!
//! Hides the tree that they are made of.

mod id_map;
mod shared_map;

pub(crate) use id_map::IdMap;
pub(crate) use shared_map::{SharedMap, SharedSet};
