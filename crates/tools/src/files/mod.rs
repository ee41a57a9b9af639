//! The files below one worktree's directory. Tools open files in no other way.
//!
//! Every open uses `openat2` below the worktree's descriptor, so neither `..` nor a link leads
//! outside, even if it is swapped in during the call. The policy then judges the real path of the
//! opened file, so a link cannot bypass a rule. What a walk finds is judged by its path and opened
//! without following any link, so that path is the real one. Only regular files are read or
//! written, so no call hangs on a pipe or a device. All operations block; tools call them through
//! [`crate::ToolContext::blocking`].

mod directories;
mod entry;
mod fingerprint;
mod foreseen;
mod ignore_rules;
mod listing;
mod metadata;
mod open;
mod parallel;
pub(crate) mod path;
mod text;
mod trigrams;
mod walk;
mod write;

pub use entry::{Entry, EntryKind};
pub(crate) use fingerprint::fingerprint;
pub use listing::{WalkLimits, WalkSummary};
pub use metadata::Metadata;
pub(crate) use open::{FileOrFolder, error_classes};
pub use open::{FileReader, Files, OpenFile};
pub(crate) use parallel::Visitor;
pub(crate) use text::binary_kind;
pub use text::{Decoded, Encoding};
pub(crate) use trigrams::{Required, SeenTrigrams, Trigrams};
pub use walk::Flow;
pub(crate) use walk::{walk_key, walk_order};
pub use write::{Expect, TEMPORARY_PREFIX, Written};
