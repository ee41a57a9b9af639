//! Reads the lines of a document: its text, their marks, and the outline.

pub(crate) mod outline;
pub(crate) mod parts;
pub(crate) mod source;
pub(crate) mod strike;
pub(crate) mod style;
pub(crate) mod text;
