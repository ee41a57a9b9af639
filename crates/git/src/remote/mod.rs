//! Remote repositories: their addresses, and what is pushed to and fetched from them.

pub(crate) mod address;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod partial_clone;
mod quarantine;
