//! Replaces a file atomically: readers see the whole old or the whole new file, also after a crash
//! or a power failure.
//!
//! The new file is written and synced in the same folder and renamed over the old one; then the
//! folder is synced. It gets the mode of the replaced file. A file that replaces none is accessible
//! to its owner alone, whatever the umask. A symbolic link in its place is replaced itself.

use std::fs::{File, Permissions};
use std::io::{ErrorKind, Result, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::private::FILE;

/// Replaces a file, or creates it.
///
/// The temporary file has a random name that begins with a dot; a killed process leaves it behind.
///
/// # Errors
/// Fails if the file cannot be written; the old file is then unchanged, and no temporary file is
/// left. Also fails if the folder cannot be synced; the new file is then in place.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let half = tempfile::Builder::new()
        .prefix(".")
        .tempfile_in(folder_of(path))?;
    complete(half, path, bytes)
}

/// Replaces a file like [`replace`], with this name for the temporary file in the same folder. Only
/// one process may replace the file at a time; a temporary file of this name that a killed process
/// left is removed first.
///
/// # Errors
/// See [`replace`].
pub fn replace_by_way_of(name: &str, path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = folder_of(path);
    match std::fs::remove_file(folder.join(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let half = tempfile::Builder::new()
        .prefix(name)
        .rand_bytes(0)
        .tempfile_in(folder)?;
    complete(half, path, bytes)
}

/// Syncs a folder, so that files created or renamed in it survive a power failure. Does nothing on
/// a file system that cannot sync folders.
///
/// # Errors
/// Fails if the folder cannot be opened or synced.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder)?.sync_all();
    match synced.as_ref().map_err(Errno::from_io_error) {
        Err(Some(Errno::INVAL | Errno::NOTSUP)) => Ok(()),
        _ => synced,
    }
}

fn complete(mut half: NamedTempFile, path: &Path, bytes: &[u8]) -> Result<()> {
    half.write_all(bytes)?;
    half.as_file().set_permissions(permissions_of(path))?;
    half.as_file().sync_all()?;
    half.persist(path)?;
    sync_folder(folder_of(path))
}

/// Returns the permissions of the existing file, or those of a new one.
fn permissions_of(path: &Path) -> Permissions {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => found.permissions(),
        _ => Permissions::from_mode(FILE),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
