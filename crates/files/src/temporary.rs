//! A folder that lives as long as a value.

use std::fs::Permissions;
use std::io::Result;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::private::FOLDER;
use crate::removal::remove_folder;

/// A folder with a name of its own that its owner alone can enter, removed with everything in it when it is dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    /// Creates one in the folder for temporary files, or in another one, with a name that begins so.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(prefix: &str, place: Option<&Path>) -> Result<Self> {
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        let private = Permissions::from_mode(FOLDER);
        let folder = tempfile::Builder::new().prefix(prefix).permissions(private.clone()).tempdir_in(place)?;
        let made = Self { path: folder.keep() };
        // The umask may have taken rights of the owner's away.
        std::fs::set_permissions(&made.path, private)?;
        Ok(made)
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets it stay.
    pub fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.path)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // What cannot be removed stays, and nothing depends on it.
            let _ = remove_folder(&self.path);
        }
    }
}
