//! The built-in tools, with descriptions and schemas from `prompts/tools`.

mod agents;
mod aggregate;
mod analysis;
mod catalogue;
mod children;
mod exec;
mod facts;
mod files;
mod git;
mod names;
mod plan;
mod programs;
mod react;
mod skill;
mod todo;
mod verdict;
mod web;

pub use catalogue::{Overrides, builtin_tools, plain_tools, unknown_parameters};
pub(crate) use names::families_of;
