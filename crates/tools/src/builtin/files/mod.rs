//! Tools for the files of the worktree.

mod change;
mod content;
mod edit;
mod grep;
mod list;
mod read;

pub(super) use change::{CreateDirectory, DeleteFile, WriteFile};
pub(super) use edit::UpdateFile;
pub(super) use grep::Grep;
pub(super) use list::{ListDirectory, SearchFiles};
pub(super) use read::ReadFile;
