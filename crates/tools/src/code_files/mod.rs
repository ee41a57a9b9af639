//! The code of a worktree: one file, or every file below a folder whose language is known, and what
//! analyses of each file find.
//!
//! A [`Survey`] opens, reads and parses a file only if what is asked of it is not in the [`cache`]
//! already.

mod cache;
mod file;
mod held;
mod survey;
mod unchanged;

pub(crate) use cache::FileVersion;
pub(crate) use file::{CodeFile, Place};
pub(crate) use held::Held;
pub(crate) use survey::{Survey, Surveyor, not_analysed};
