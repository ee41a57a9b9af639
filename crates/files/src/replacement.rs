//! Replacing a file in one step: readers see the old one or the new one whole, also after a crash or a power cut.
//!
//! The new file is written and synced in the same folder, takes the place of the old one, and the folder is synced. It
//! has the mode of the file that it replaces; a new one can be read by its owner alone, whatever the umask is. A link
//! in its place is replaced itself.

use std::fs::{File, Permissions};
use std::io::{ErrorKind, Result, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::private::FILE;

/// Replaces a file, or creates it.
///
/// The half-written file has a random name that begins with a dot; a process that is killed leaves it behind.
///
/// # Errors
/// If it cannot be written; the old one is then as it was, and nothing is left beside it. Or if the folder cannot be
/// synced; the new file is then in place.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let half = tempfile::Builder::new().prefix(".").tempfile_in(folder_of(path))?;
    complete(half, path, bytes)
}

/// Does what [`replace`] does, by way of a file of a fixed name in the same folder. Only one process may replace it at
/// a time; what one that was killed has left under that name is removed first.
///
/// # Errors
/// As [`replace`].
pub fn replace_by_way_of(name: &str, path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = folder_of(path);
    match std::fs::remove_file(folder.join(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let half = tempfile::Builder::new().prefix(name).rand_bytes(0).tempfile_in(folder)?;
    complete(half, path, bytes)
}

/// Syncs a folder, so that what was created or renamed in it is there after a power cut. A file system that cannot do
/// that promises nothing, which is no error.
///
/// # Errors
/// If the folder cannot be opened or synced.
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

/// Returns the permissions of the file that is there, or those of a new one.
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
