//! A temporary folder that is removed when its value is dropped.

use std::fs::Permissions;
use std::io::Result;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::private::FOLDER;
use crate::removal::remove_folder;

/// A folder with a unique name that only its owner can enter; removed with everything in it on
/// drop.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    /// Creates a folder in `place`, or in the system's folder for temporary files, with a name that
    /// begins with `prefix`.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn create(prefix: &str, place: Option<&Path>) -> Result<Self> {
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        let private = Permissions::from_mode(FOLDER);
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(private.clone())
            .tempdir_in(place)?;
        let made = Self {
            path: folder.keep(),
        };
        // The umask may have removed permissions of the owner.
        std::fs::set_permissions(&made.path, private)?;
        Ok(made)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder on disk and returns its path.
    pub fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.path)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // A folder that cannot be removed is left behind; nothing depends on it.
            let _ = remove_folder(&self.path);
        }
    }
}
