//! Plans: Markdown that people already write, read into tasks with an order.
//!
//! Reading reports every error at once, each with line, column and what to write instead; it loses nothing in
//! silence ([`Skipped`]) and is linear in the text, whatever it holds. Reading never fails for what lies
//! outside the plan: roles and models are given ([`KnownNames`]), what else decides is for [`check`](fn@check) alone.
//! This module does not run, start or write anything; [`write_boxes`] gives text back.

mod alike;
mod attributes;
mod check;
mod checkbox;
mod closing;
mod collect;
mod command;
mod draft;
mod finding;
mod front_matter;
mod heading;
mod identify;
mod names;
mod order;
mod outline;
mod overlap;
mod parse;
mod reference;
mod source;
mod stuck;
mod text;
mod value;
mod write_back;

#[cfg(test)]
mod growth;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod tests;

pub use check::{CheckReport, CheckedTask, Estimate, Surroundings, check, unfit};
pub use command::{FirstWord, PlannedCommand, commands_of_checks};
pub use finding::{Finding, FindingCode, PlanError, PlanWarning, Skipped};
pub use front_matter::{FrontMatter, Order, front_matter};
pub use names::KnownNames;
pub use order::MAX_DEPENDENCIES;
pub use outline::MAX_DEPTH;
pub use parse::{MAX_PLAN_BYTES, MAX_TASKS, Plan};
pub use value::{count, duration_ms};
pub use write_back::write_boxes;
