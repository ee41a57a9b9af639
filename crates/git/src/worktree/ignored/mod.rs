//! Ignored files that new worktrees get: copies of the user's, and what a setup and the base's
//! check have made.

pub(crate) mod copies;
pub(crate) mod include;
pub(crate) mod links_back;
pub(crate) mod made;
pub(crate) mod outputs;
