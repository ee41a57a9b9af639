//! A map of a repository for one task: what its files declare, ranked by what the task's files reach, within a budget.
//!
//! [`Tags`] are what one file declares and refers to. Files refer to each other by names, so they are a graph; a walk
//! over it that begins at what the task names ranks the files, and what they declare. All of it is computed with whole
//! numbers, so that the result depends neither on the machine nor on the order in which files are given.

mod graph;
mod limits;
mod rank;
mod render;
mod repository_map;
mod tags;
mod task;

pub use limits::{MAX_MAPPED_BYTES, MAX_MAPPED_FILES, MAX_TAGGED_BYTES, chosen};
pub use repository_map::RepositoryMap;
pub use tags::{Definition, MappedFile, Tags};
pub use task::MapTask;
