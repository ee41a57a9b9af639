//! What maps of the repository are made of: an index of the files of a commit, and what of it is
//! kept between runs.

mod index;
mod parts;

pub use index::{StoredFile, makes_maps, map_index};
pub use parts::MapLines;
