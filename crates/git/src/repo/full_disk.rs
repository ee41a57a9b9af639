//! Whether a disk was full, where neither libgit2 nor git says why it wrote nothing.
//!
//! A write that fails in the middle of an object leaves libgit2's error without a text, and the system's error number
//! is cleared before we could read it; git names only the file that it could not write to its end. So we look at the
//! room that is left. Quotas are not seen here.

use std::path::Path;

use crate::error::NO_SPACE;
use crate::repo::program::Ended;

/// What libgit2 says where it noted no reason.
const NO_REASON: &str = "no error";
/// How git begins to say that it could not write a file, without a reason.
const UNNAMED: &str = "unable to write ";
/// What an object may take beyond its content: blocks that are not full, folders, and compression that does not pay.
const OVERHEAD_BYTES: u64 = 64 << 10;

/// Returns the reason why an object was not written, if the disk is full.
pub(crate) fn reason(error: &git2::Error, git_dir: &Path, content_bytes: usize) -> Option<git2::Error> {
    let says_so = error.message().contains(NO_SPACE);
    let has_no_room = || {
        let needed = content_bytes as u64 + content_bytes as u64 / 1000 + OVERHEAD_BYTES;
        error.message() == NO_REASON && has_less(git_dir, needed)
    };
    let text = || format!("{NO_SPACE} on the disk of {}", git_dir.display());
    (says_so || has_no_room()).then(|| git2::Error::from_str(&text()))
}

/// Returns what git complained of when it wrote a checkout, with the reason if the disk is full.
pub(crate) fn complaint(ended: &Ended, checkout: &Path) -> String {
    let said = ended.stderr.trim();
    let is_unnamed = said.contains(UNNAMED) && !said.contains(NO_SPACE);
    match is_unnamed && has_less(checkout, OVERHEAD_BYTES) {
        true => format!("{said} ({NO_SPACE} on the disk of {})", checkout.display()),
        false => said.to_owned(),
    }
}

fn has_less(folder: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) < bytes)
}
