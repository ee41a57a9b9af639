//! Patches of text files: the grammar between `*** Begin Patch` and `*** End Patch`, and unified
//! diffs.
//!
//! Both are parsed into the same [`Patch`], which is rendered in the first grammar, so that what is
//! judged, recorded and applied is one form. Nothing here touches a file.

mod apply;
mod model;
mod parse;

pub(crate) use apply::apply;
pub(crate) use model::{Change, Hunk, Patch};
pub(crate) use parse::parse;

#[cfg(test)]
mod tests;
