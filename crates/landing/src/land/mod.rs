//! A run's result: landed, undone, proposed, or made again without some of its tasks.

pub(crate) mod dropping;
pub mod integration_branch;
pub(crate) mod landing;
pub(crate) mod landing_commit;
pub(crate) mod options;
pub(crate) mod plan_boxes;
pub(crate) mod propose;
mod tree_check;
mod wording;
