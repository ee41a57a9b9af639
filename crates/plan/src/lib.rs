//! Parses plans: Markdown, as people already write it, and the JSON of other trackers, into ordered
//! tasks.
//!
//! Parsing reports every error at once, each with its line, its column and a suggestion. Lines that
//! look like tasks but are not are reported too ([`Skipped`]). The time is linear in the length of
//! the text, for any input. The result depends only on the text and on the given roles and models
//! ([`KnownNames`]); [`check`](fn@check) covers everything else outside the plan. The crate does no
//! IO and starts nothing; [`write_boxes`] returns the new text.

mod answer;
mod check;
mod citations;
mod fields;
mod finding;
mod formats;
mod front_matter;
mod goal;
#[cfg(test)]
mod growth;
mod import;
#[cfg(test)]
mod invariants;
mod keep_boxes;
mod known_formats;
mod left_out;
mod lines;
mod mark;
mod order;
mod parse;
mod proposed;
mod tasks;
#[cfg(test)]
mod tests;
mod words;
mod write_back;
pub mod yaml;

pub use check::command::{FirstWord, PlannedCommand, commands_of_checks};
pub use check::readings::render as render_readings;
pub use check::report::{
    CheckReport, CheckedTask, Estimate, Surroundings, TaskLimits, Wave, check, check_goal, unfit,
};
pub use citations::{Citation, LineRole};
pub use fields::names::KnownNames;
pub use fields::names::ReadAs;
pub use fields::value::duration_ms;
pub use finding::{Finding, FindingCode, PlanError, PlanWarning, Skipped};
pub use formats::format::KnownFormat;
pub use formats::lines::{LineKind, LineUse};
pub use formats::reading::Reading;
pub use front_matter::{FrontMatter, Order, front_matter};
pub use goal::PLANNER;
pub use keep_boxes::{KeptBoxes, keep_boxes};
pub use known_formats::formats;
pub use left_out::not_run_of_document;
pub use lines::outline::MAX_DEPTH;
pub use mark::{GroupMark, Mark};
pub use order::reason::{Cause, Reason};
pub use parse::{MAX_PLAN_BYTES, Plan, notes, section};
pub use proposed::{Rewritten, proposed};
pub use tasks::draft::COORDINATOR;
pub use tasks::note::Note;
pub use write_back::write_boxes;
