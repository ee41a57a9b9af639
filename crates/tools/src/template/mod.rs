//! The command templates of wrappers.

mod command_template;
mod hidden;
mod word;

pub use command_template::CommandTemplate;
pub(crate) use word::{ARGUMENTS, ARGUMENTS_SYNONYM};
