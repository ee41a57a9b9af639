//! The lines of the table, by what they are about.

pub(super) mod analysis;
pub(super) mod audit;
pub(super) mod configuration;
pub(super) mod context;
pub(super) mod extending;
pub(super) mod failures;
pub(super) mod files;
pub(super) mod harness;
pub(super) mod permissions;
pub(super) mod programs;
pub(super) mod registry;
pub(super) mod tool_files;
pub(super) mod version_control;
pub(super) mod web;
