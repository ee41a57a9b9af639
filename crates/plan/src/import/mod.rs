//! Reads plans that other trackers keep as JSON: Ralph's `prd.json`, task-master's `tasks.json`,
//! the issues of beads.
//!
//! The format is recognised by its fields, by the claims of all of them ([`format`]). Each reader
//! makes records ([`record::Record`]) of what it finds, and [`assemble`] makes the same drafts of
//! them that the Markdown reader makes: ids, order and errors are then the plan's. Text is only
//! ever told to an agent; no field becomes a command.

mod assemble;
mod beads;
mod document;
mod format;
mod json;
mod ralph;
mod record;
mod task_master;
#[cfg(test)]
mod tests;

pub(crate) use document::{FORMATS, claim, is_json, read};
