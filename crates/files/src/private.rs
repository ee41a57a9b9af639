//! Making files and folders that their owner alone can read: the only place where one is made outside of worktrees.
//!
//! The mode is given when they are made, so that nobody gets in before, and set again after, because a umask may also
//! take the owner's own rights away. What was there before keeps its mode.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Result, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The mode of a folder.
pub(crate) const FOLDER: u32 = 0o700;
/// The mode of a file.
pub(crate) const FILE: u32 = 0o600;

/// Creates a folder, and the folders above it that are missing.
///
/// # Errors
/// If one cannot be made, or something else is in its place.
pub fn create_folder(folder: &Path) -> Result<()> {
    let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.is_dir();
    let mut folders: Vec<&Path> = folder.ancestors().take_while(missing).collect();
    while let Some(folder) = folders.pop() {
        match DirBuilder::new().mode(FOLDER).create(folder) {
            Ok(()) => std::fs::set_permissions(folder, Permissions::from_mode(FOLDER))?,
            // Another process has made it in between.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Creates an empty file, or empties the one that is there.
///
/// # Errors
/// If it cannot be made or written.
pub fn create_file(path: &Path) -> Result<File> {
    open(OpenOptions::new().write(true).create(true).truncate(true), path)
}

/// Opens a file to read and write it, and creates it if it is missing.
///
/// # Errors
/// If it cannot be made or opened.
pub fn open_or_create(path: &Path) -> Result<File> {
    open(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
}

/// Writes a file, in the place of the one that is there.
///
/// # Errors
/// If it cannot be made or written.
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
