//! The checks of work, which are commands: whether a command is one, and what its output says.
//!
//! Hides how lines for a shell and the outputs of other programs are read.

mod command;
pub mod hint;
mod output;
pub mod tries;

pub(crate) use command::{Changes, Reading, read};
pub use output::{CONNECTION_REFUSED, EVIDENCE_BYTES, NOT_REACHED, failing_lines};
pub(crate) use tries::BaseResult;
pub use tries::RedBase;
