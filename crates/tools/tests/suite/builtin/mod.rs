//! Tests of the built-in tools, by what they work on.

pub(crate) mod analysis;
pub(crate) mod commands;
pub(crate) mod dependencies;
pub(crate) mod files;
pub(crate) mod leftovers;
pub(crate) mod packages;
pub(crate) mod programs;
pub(crate) mod remotes;
pub(crate) mod search;
pub(crate) mod web;
