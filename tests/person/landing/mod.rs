//! How a result reaches the user's branch, and what is removed afterwards.

pub(super) mod discard;
pub(super) mod land;
pub(super) mod land_styles;
pub(super) mod propose;
pub(super) mod prune;
pub(super) mod run_land;
