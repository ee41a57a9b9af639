//! Creates files and folders outside of worktrees, accessible to their owner alone.
//!
//! The mode is set at creation, so other users never get access. It is set again afterwards,
//! because a umask can also remove permissions of the owner. Existing files and folders keep their
//! mode.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Result, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The mode of a new folder.
pub(crate) const FOLDER: u32 = 0o700;
/// The mode of a new file.
pub const FILE: u32 = 0o600;

/// Creates a folder, and the missing folders above it.
///
/// # Errors
/// Fails if a folder cannot be created, or if something else is in its place.
pub fn create_folder(folder: &Path) -> Result<()> {
    let mut folders: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    while let Some(folder) = folders.pop() {
        match DirBuilder::new().mode(FOLDER).create(folder) {
            Ok(()) => std::fs::set_permissions(folder, Permissions::from_mode(FOLDER))?,
            // Another process created it in the meantime.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_missing(path: &&Path) -> bool {
    !path.as_os_str().is_empty() && !path.is_dir()
}

/// Creates an empty file, or truncates an existing one.
///
/// # Errors
/// Fails if the file cannot be created or written.
pub fn create_file(path: &Path) -> Result<File> {
    open(
        OpenOptions::new().write(true).create(true).truncate(true),
        path,
    )
}

/// Opens a file for reading and writing, and creates it if it is missing.
///
/// # Errors
/// Fails if the file cannot be created or opened.
pub fn open_or_create(path: &Path) -> Result<File> {
    open(
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false),
        path,
    )
}

/// Writes a file, and overwrites an existing one in place.
///
/// # Errors
/// Fails if the file cannot be created or written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    create_file(path)?.write_all(bytes)
}

fn open(options: &mut OpenOptions, path: &Path) -> Result<File> {
    let is_new = std::fs::symlink_metadata(path).is_err();
    let file = options.mode(FILE).open(path)?;
    if is_new {
        file.set_permissions(Permissions::from_mode(FILE))?;
    }
    Ok(file)
}
