//! The text of a document: its lines, its blocks, and the marks in a line.

pub(crate) mod fences;
pub(crate) mod outline;
pub(crate) mod source;
pub(crate) mod text;
