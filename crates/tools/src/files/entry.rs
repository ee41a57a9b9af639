//! What walks find.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, statat};

use super::path::split;
use crate::answer::FileStamp;

/// A file system entry found by a walk. It keeps the directory open that it was found in.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The path relative to the worktree.
    pub path: String,
    /// The type of the entry.
    pub kind: EntryKind,
    directory: Arc<OwnedFd>,
}

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, not followed.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Entry {
    pub(super) fn new(path: String, kind: EntryKind, directory: &Arc<OwnedFd>) -> Entry {
        Entry {
            path,
            kind,
            directory: Arc::clone(directory),
        }
    }

    /// Returns the entry's metadata now, without following a link; `None` if it is gone.
    pub fn stamp(&self) -> Option<FileStamp> {
        let (_, name) = split(&self.path);
        let stat = statat(&*self.directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileStamp::from_stat(&stat))
    }
}

pub(super) fn kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}
