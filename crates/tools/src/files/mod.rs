//! The files below one worktree's directory: the only way in which a tool opens anything.
//!
//! Every open goes through `openat2` below the held descriptor, so neither `..` nor a link, swapped at any
//! moment, leads outside. What was opened is then judged by its real name, so that a link does not get around
//! a rule. Only regular files are read or written; nothing here waits on a pipe or a device. All of it blocks:
//! tools call it through [`crate::ToolContext::blocking`].

mod open;
mod text;
mod walk;
mod write;

pub use open::{Files, OpenFile};
pub use text::{Decoded, Encoding};
pub use walk::{Entry, EntryKind, Flow, WalkLimits, WalkSummary};
pub use write::{Expect, TEMPORARY_PREFIX, Written};
