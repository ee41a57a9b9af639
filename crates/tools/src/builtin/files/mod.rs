//! Tools for the files of the worktree.

mod change;
mod content;
mod copy;
mod edit;
mod grep;
mod info;
mod large;
mod list;
mod patch;
mod read;
mod read_many;
mod syntax;

pub(super) use change::{AppendFile, CreateDirectory, DeleteFile, WriteFile};
pub(super) use copy::{CopyFile, MoveFile};
pub(super) use edit::UpdateFile;
pub(super) use grep::Grep;
pub(super) use info::GetFileInfo;
pub(super) use list::{ListDirectory, SearchFiles};
pub(super) use patch::ApplyPatch;
pub(super) use read::ReadFile;
