//! Counts the disk space that a folder occupies, and what is free.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The unit in which the kernel counts a file's blocks, whatever the file system's own block size.
const BLOCK_BYTES: u64 = 512;

/// Returns the bytes that a folder occupies on its disk, a file with several names in it once.
/// Links are not followed.
///
/// What disappears meanwhile, or cannot be read, counts as nothing: the folder may be in use. Space
/// that files share by reference is counted for each of them, since the kernel does not say what is
/// shared.
pub fn disk_usage(folder: &Path) -> u64 {
    let Ok(top) = folder.symlink_metadata() else {
        return 0;
    };
    let (mut bytes, mut linked) = (top.blocks() * BLOCK_BYTES, BTreeSet::new());
    let mut open = if top.is_dir() {
        vec![folder.to_owned()]
    } else {
        Vec::new()
    };
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if is_first(&found, &mut linked) {
                bytes += found.blocks() * BLOCK_BYTES;
            }
            if found.is_dir() {
                open.push(entry.path());
            }
        }
    }
    bytes
}

/// Returns the bytes that this user can still write to the disk of a folder. Quotas are not known.
///
/// # Errors
/// Fails if there is no such folder, or if its file system does not say.
pub fn free_bytes(folder: &Path) -> std::io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Reports whether a file has not been counted under another name.
fn is_first(found: &Metadata, linked: &mut BTreeSet<(u64, u64)>) -> bool {
    found.is_dir() || found.nlink() == 1 || linked.insert((found.dev(), found.ino()))
}
