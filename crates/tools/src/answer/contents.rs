//! What is known of the contents of files by their metadata.

use std::os::fd::AsFd;
use std::time::Duration;

use orchestrate_core::Oid;
use rustix::fs::{Stat, fstat};

/// A file or a directory that was changed within this time may change again without another time
/// stamp: coarser than any file system's clock.
const STILL_FRESH: Duration = Duration::from_secs(2);

/// The metadata of a file, by which an unchanged file is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// The number of the file system.
    pub device: u64,
    /// The number of the inode.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last modification, in seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
    /// The time of the last change of the inode.
    pub changed: (i64, i64),
}

/// What is known of the contents of a worktree's files.
pub trait FileContents: Send + Sync {
    /// Returns the id of a file's bytes if it is known without reading the file.
    fn known(&self, path: &str, stamp: &FileStamp) -> Option<Oid>;
    /// Returns the id of bytes that were read from a file which had this metadata before and
    /// afterwards; `None` if they cannot have one.
    fn read(&self, stamp: &FileStamp, bytes: &[u8]) -> Option<Oid>;
}

impl FileStamp {
    /// Returns the metadata of an open file now; `None` if the system does not say it.
    pub(crate) fn now(file: impl AsFd) -> Option<FileStamp> {
        fstat(file).ok().map(|stat| FileStamp::from_stat(&stat))
    }

    /// Reports whether any later change gives it another stamp, if it has this one now, in the time
    /// since 1970.
    pub(crate) fn is_settled(&self, now: Duration) -> bool {
        let newest = self.changed.max(self.modified).0;
        u64::try_from(newest).is_ok_and(|newest| newest < now.saturating_sub(STILL_FRESH).as_secs())
    }

    pub(crate) fn from_stat(stat: &Stat) -> FileStamp {
        let time = |seconds, nanoseconds| (integer(seconds), integer(nanoseconds));
        FileStamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// Converts a part of a time, whose type differs between systems; what does not fit makes a stamp
/// that is never equal.
fn integer(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MIN)
}
