//! Detects a full disk where neither libgit2 nor git reports why a write failed.
//!
//! If a write fails in the middle of an object, libgit2's error has no text, and the system's error
//! number is cleared before we could read it. Git names only the file that it could not write
//! completely. So the free space is examined instead. Quotas are not detected.

use std::path::Path;

use crate::error::NO_SPACE;
use crate::program::run::Ended;

/// Libgit2's message where it recorded no reason.
const NO_REASON: &str = "no error";
/// How git's complaint about a failed write begins, which gives no reason.
const UNNAMED: &str = "unable to write ";
/// What an object may take beyond its content: partly filled blocks, folders, and compression that
/// does not help.
const OVERHEAD_BYTES: u64 = 64 << 10;

/// Returns the reason why an object was not written, if the disk is full.
pub(crate) fn reason(
    error: &git2::Error,
    git_dir: &Path,
    content_bytes: usize,
) -> Option<git2::Error> {
    let says_so = error.message().contains(NO_SPACE);
    let has_no_room = || {
        let needed = content_bytes as u64 + content_bytes as u64 / 1000 + OVERHEAD_BYTES;
        error.message() == NO_REASON && has_less(git_dir, needed)
    };
    let text = || format!("{NO_SPACE} on the disk of {}", git_dir.display());
    (says_so || has_no_room()).then(|| git2::Error::from_str(&text()))
}

/// Returns git's complaint about writing a checkout, with the reason added if the disk is full.
pub(crate) fn complaint(ended: &Ended, checkout: &Path) -> String {
    let said = ended.stderr.trim();
    let is_unnamed = said.contains(UNNAMED) && !said.contains(NO_SPACE);
    match is_unnamed && has_less(checkout, OVERHEAD_BYTES) {
        true => format!("{said} ({NO_SPACE} on the disk of {})", checkout.display()),
        false => said.to_owned(),
    }
}

fn has_less(folder: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(folder)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) < bytes)
}
