//! A map of a repository for one task: what its files declare, ranked by what the task's files
//! reach, within a budget.
//!
//! [`Tags`] are what one file declares and refers to. Files refer to each other by names, so they
//! are a graph, which [`MapIndex`] holds; a walk over it that begins at what the task names ranks
//! the files that it reaches, and what they declare. A task that names nothing has no map. All of
//! it is computed with whole numbers, so that the result depends neither on the machine nor on the
//! order in which files are given.

mod graph;
mod index;
mod limits;
mod rank;
mod render;
mod repository_map;
mod tags;
mod task;

pub use index::{IndexBuilder, MapIndex};
pub use limits::{MAX_MAPPED_BYTES, MAX_MAPPED_FILES, MAX_TAGGED_BYTES, chosen};
pub use repository_map::RepositoryMap;
pub use tags::{Definition, TagText, Tags};
pub use task::MapTask;
