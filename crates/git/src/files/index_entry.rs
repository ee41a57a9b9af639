//! Entries of an index: what git records of a file, and whether a file still is what was recorded.

use std::os::fd::OwnedFd;

use git2::{IndexEntry, IndexTime};
use rustix::fs::Stat;

use crate::files::openat;

/// The mode of a regular file.
pub(crate) const REGULAR: u32 = 0o100_644;
/// The mode of an executable file.
pub(crate) const EXECUTABLE: u32 = 0o100_755;
/// The mode of a symbolic link.
pub(crate) const LINK: u32 = 0o120_000;
/// The mode of a submodule: the entry's id is a commit of another repository.
pub(crate) const GITLINK: u32 = 0o160_000;

/// The largest file that is read to compare it, or to store it; larger ones do not belong in a
/// repository.
pub(crate) const MAX_FILE_BYTES: u64 = 256 << 20;

/// What is recorded of a path, as far as its kind goes.
pub(crate) trait Recorded {
    /// Returns the mode of the entry.
    fn mode(&self) -> u32;
}

impl Recorded for u32 {
    fn mode(&self) -> u32 {
        *self
    }
}

impl Recorded for IndexEntry {
    fn mode(&self) -> u32 {
        self.mode
    }
}

/// Creates the index entry of a file that has this content and metadata.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the index keeps the low 32 bits"
)]
pub(crate) fn entry_of(path: &[u8], mode: u32, id: git2::Oid, stat: &Stat) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(
            seconds(stat.st_ctime) as i32,
            nanoseconds(stat.st_ctime_nsec) as u32,
        ),
        mtime: IndexTime::new(
            seconds(stat.st_mtime) as i32,
            nanoseconds(stat.st_mtime_nsec) as u32,
        ),
        dev: stat.st_dev as u32,
        ino: stat.st_ino as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        file_size: stat.st_size as u32,
        ..unread_entry(path, mode, id)
    }
}

/// Creates an index entry without metadata of a file, so that the file is read at the next staging.
pub(crate) fn unread_entry(path: &[u8], mode: u32, id: git2::Oid) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: u16::try_from(path.len()).unwrap_or(0xfff).min(0xfff),
        flags_extended: 0,
        path: path.to_vec(),
    }
}

/// Reports whether a file has the metadata that the index recorded.
pub(crate) fn looks_same(stat: &Stat, entry: &IndexEntry) -> bool {
    let on_disk = entry_of(&[], entry.mode, entry.id, stat);
    let facts = |entry: &IndexEntry| {
        let times = (
            entry.mtime.seconds(),
            entry.mtime.nanoseconds(),
            entry.ctime.seconds(),
            entry.ctime.nanoseconds(),
        );
        (times, entry.file_size, entry.ino, entry.uid, entry.gid)
    };
    facts(&on_disk) == facts(entry)
}

/// Reports whether a blob has these bytes.
pub(crate) fn is_blob(bytes: &[u8], id: git2::Oid) -> bool {
    git2::Oid::hash_object(git2::ObjectType::Blob, bytes).is_ok_and(|hashed| hashed == id)
}

/// Converts a number of seconds, whose type depends on the machine.
pub(crate) fn seconds(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or_default()
}

/// Converts a number of nanoseconds, whose type depends on the machine.
pub(crate) fn nanoseconds(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or_default()
}

/// Reports whether a file has the very bytes that the index has of it. What cannot be read does
/// not.
pub(crate) fn has_still(folder: &OwnedFd, name: &[u8], entry: &IndexEntry) -> bool {
    match entry.mode {
        LINK => openat::read_link(folder, name).is_ok_and(|target| is_blob(&target, entry.id)),
        _ => {
            let read = openat::read(folder, name, MAX_FILE_BYTES);
            read.is_ok_and(|read| read.is_some_and(|(bytes, _)| is_blob(&bytes, entry.id)))
        }
    }
}
