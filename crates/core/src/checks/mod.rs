//! The checks of work, which are commands: whether a command is one, and what its output says.
//!
//! Hides how lines for a shell and the outputs of other programs are read.

mod command;
pub mod flaky;
pub mod hint;
mod output;

pub(crate) use command::{Changes, Reading, read};
pub(crate) use flaky::BaseResult;
pub use flaky::RedBase;
pub use output::{CONNECTION_REFUSED, EVIDENCE_BYTES, NOT_REACHED, failing_lines};
