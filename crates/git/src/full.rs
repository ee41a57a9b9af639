//! Whether a disk was full, where libgit2 does not say why it wrote nothing.
//!
//! A write that fails in the middle of an object leaves libgit2's error without a text, and the system's error number is
//! cleared before we could read it. So we look at the room that is left. Quotas are not seen here.

use std::path::Path;

/// What libgit2 says where it noted no reason.
const NO_REASON: &str = "no error";
/// What an object may take beyond its content: blocks that are not full, folders, and compression that does not pay.
const OVERHEAD_BYTES: u64 = 64 << 10;

/// Gives the reason why an object was not written, if the disk is full.
pub(crate) fn reason(error: &git2::Error, git_dir: &Path, content_bytes: usize) -> Option<git2::Error> {
    let says_so = error.message().contains("No space left");
    let has_no_room = || {
        let needed = content_bytes as u64 + content_bytes as u64 / 1000 + OVERHEAD_BYTES;
        let found = rustix::fs::statvfs(git_dir);
        error.message() == NO_REASON && found.is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) < needed)
    };
    let text = || format!("No space left on the disk of {}", git_dir.display());
    (says_so || has_no_room()).then(|| git2::Error::from_str(&text()))
}
