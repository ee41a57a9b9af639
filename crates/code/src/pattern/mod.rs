//! Finds code by its structure: a pattern is code of the language in which `$NAME` stands for one
//! node and `$$$NAME` for any number of them.
//!
//! A name that stands twice stands for the same code. Comments and commas are not compared, nor
//! tokens without a name that only the code has. In Rust, the arguments of macros are searched as
//! those of functions.

mod compile;
mod find;
mod macros;
mod model;
mod spelling;

pub(crate) use compile::attempts;
pub use model::{Capture, Pattern, PatternMatch};
