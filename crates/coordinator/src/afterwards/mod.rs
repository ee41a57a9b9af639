//! Operations on a finished run: review, landing, cleaning, ticking the plan's boxes.

pub(crate) mod adopting;
pub(crate) mod archive;
pub(crate) mod clean;
pub(crate) mod discard;
pub(crate) mod dropping;
pub(crate) mod land;
pub(crate) mod landing_commit;
pub(crate) mod moved;
pub(crate) mod plan_boxes;
pub(crate) mod propose;
pub(crate) mod prune;
pub(crate) mod review;
pub(crate) mod tree_check;
pub(crate) mod wording;
