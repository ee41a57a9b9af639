//! Removes folders and ends: what the helper does in the background after a cleaning
//! (`removal.rs`).

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Removes folders with everything in them; the last failure is reported, after all were tried.
pub(super) fn run(folders: &[OsString]) -> io::Result<()> {
    let mut failed = None;
    for folder in folders {
        match orchestrate_files::remove_folder(Path::new(folder)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => failed = Some(error),
            _ => {}
        }
    }
    failed.map_or(Ok(()), Err)
}
