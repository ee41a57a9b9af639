//! The values of settings, and the lists of names among them.

mod names;
mod value;

pub use names::Names;
pub(crate) use names::is_about_some_tool;
pub use value::{Expected, GivenRule, Kind, Value};
pub(crate) use value::{LONGEST_SECONDS, shown_duration};
