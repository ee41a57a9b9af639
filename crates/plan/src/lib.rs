//! Plans: Markdown that people already write, read into tasks with an order.
//!
//! Reading reports every error at once, each with line, column and what to write instead; it loses nothing in
//! silence ([`Skipped`]) and is linear in the text, whatever it holds. Reading never fails for what lies
//! outside the plan: roles and models are given ([`KnownNames`]), what else decides is for [`check`](fn@check) alone.
//! This module does not run, start or write anything; [`write_boxes`] gives text back.

mod check;
mod fields;
mod front_matter;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod invariants;
mod order;
mod parse;
mod read;
pub mod role;
#[cfg(test)]
mod tests;
mod words;
mod write_back;

pub use check::command::{FirstWord, PlannedCommand, commands_of_checks};
pub use check::finding::{Finding, FindingCode, PlanError, PlanWarning, Skipped};
pub use check::report::{CheckReport, CheckedTask, Estimate, Surroundings, check, unfit};
pub use fields::names::KnownNames;
pub use fields::value::duration_ms;
pub use front_matter::{FrontMatter, Order, front_matter};
pub use parse::{MAX_PLAN_BYTES, Plan};
pub use read::outline::MAX_DEPTH;
pub use role::Role;
pub use words::nearest;
pub use write_back::write_boxes;
