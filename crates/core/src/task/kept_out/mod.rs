//! Which new files of a worktree stay out of commits: caches and build outputs, and what looks like
//! a secret.
//!
//! The rules are about files that nothing has committed yet; a tracked file is never kept out.
//! Scratch files are only left out and named. A file that looks like a secret also holds its task
//! until a person decides about it. One table answers for all: the commit, the review of changed
//! files (`crate::projections::review`) and what tools may read.
//!
//! Deliberately absent: any judgement about a password in ordinary text. A rule names a file by
//! what programs of its ecosystem call it, or a content by a form that only keys and tokens have.

mod rules;
mod scratch;
mod secrets;

pub use rules::{CommitRules, CommitSettings, Untracked};
pub(crate) use secrets::name_of_secret;
pub use secrets::{MAX_SEARCHED_BYTES, secret_in};
