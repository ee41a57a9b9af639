//! Describes a path without opening its content.

use std::os::fd::AsFd;

use rustix::fs::{FileType, OFlags, fstat};

use super::entry::{EntryKind, kind};
use super::open::{Files, failure};
use crate::answer::ToolError;

/// What the file system knows of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The real path relative to the worktree; empty for the worktree itself.
    pub path: String,
    /// The type.
    pub kind: EntryKind,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: u32,
    /// When the content changed, in seconds since 1970.
    pub modified: i64,
    /// When the content was read, in seconds since 1970.
    pub accessed: i64,
    /// When the content or the metadata changed, in seconds since 1970.
    pub changed: i64,
}

impl Files {
    /// Returns what the file system knows of a path, without following a link at its end.
    ///
    /// # Errors
    /// As [`Files::open`], but a path of any type is described.
    pub fn metadata(&self, path: &str) -> Result<Metadata, ToolError> {
        let handle = self.handle(path, OFlags::NOFOLLOW)?;
        let stat = fstat(&handle).map_err(|errno| failure(path, errno))?;
        let real = self.real_path(path, handle.as_fd())?;
        let kind = kind(FileType::from_raw_mode(stat.st_mode));
        match kind {
            EntryKind::Directory if real.is_empty() => {}
            EntryKind::Directory => self.guard().check_folder(&real)?,
            EntryKind::File | EntryKind::Link | EntryKind::Other => self.guard().check(&real)?,
        }
        Ok(Metadata {
            path: real,
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            modified: stat.st_mtime,
            accessed: stat.st_atime,
            changed: stat.st_ctime,
        })
    }
}
