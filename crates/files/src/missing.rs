//! Files that need not be there.

use std::io;
use std::path::{Path, PathBuf};

/// Returns what was done with a file or a folder, or `None` if it is not there.
///
/// # Errors
/// Every other error.
pub fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the paths of all that is in a folder, sorted; none if the folder is not there.
///
/// # Errors
/// If the folder cannot be listed.
pub fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(listed) = if_there(folder.read_dir())? else {
        return Ok(Vec::new());
    };
    let mut paths = listed
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}
