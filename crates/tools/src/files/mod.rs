//! The files below one worktree's directory. Tools open files in no other way.
//!
//! Every open uses `openat2` below the worktree's descriptor, so neither `..` nor a link leads
//! outside, even if it is swapped in during the call. The policy then judges the real path of the
//! opened file, so a link cannot bypass a rule. Only regular files are read or written, so no call
//! hangs on a pipe or a device. All operations block; tools call them through
//! [`crate::ToolContext::blocking`].

mod fingerprint;
mod foreseen;
mod metadata;
mod open;
mod text;
mod walk;
mod write;

pub(crate) use fingerprint::fingerprint;
pub use metadata::Metadata;
pub use open::{FileReader, Files, OpenFile};
pub use text::{Decoded, Encoding};
pub use walk::{Entry, EntryKind, Flow, WalkLimits, WalkSummary};
pub use write::{Expect, TEMPORARY_PREFIX, Written};
