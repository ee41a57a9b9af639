//! Keeps what a fetch brings apart from the repository's objects until it is accepted, as a server
//! of git does.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use orchestrate_files::TemporaryFolder;

use crate::error::GitError;
use crate::program::run::in_list;

/// The beginning of the folder's name. Git's own cleaning knows it, so it removes what a killed
/// process leaves.
const PREFIX: &str = "tmp_objdir-orchestrate-";
/// The files of a pack in the order in which they are moved: git looks for the index, which needs
/// the others.
const PARTS: [&str; 3] = ["pack", "rev", "idx"];

/// A folder for objects beside those of the repository, which is removed with the value.
#[derive(Debug)]
pub(super) struct Quarantine {
    folder: TemporaryFolder,
    /// The repository's own objects.
    objects: PathBuf,
    max_bytes: u64,
}

impl Quarantine {
    /// Creates a folder whose files have at most this size. It is on the file system of the
    /// repository's objects.
    pub(super) fn beside(objects: PathBuf, max_bytes: u64) -> Result<Quarantine, GitError> {
        let folder = TemporaryFolder::create(PREFIX, Some(&objects));
        let folder = folder.map_err(GitError::io("create a folder for objects in", &objects))?;
        Ok(Quarantine {
            folder,
            objects,
            max_bytes,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Returns the repository's own objects, as git reads them from a variable.
    pub(super) fn borrowed(&self) -> OsString {
        in_list(&self.objects)
    }

    /// Reports whether a file has reached the size at which git was stopped.
    pub(super) fn is_full(&self) -> Result<bool, GitError> {
        let sizes = self
            .packs()?
            .into_iter()
            .map(|path| match path.symlink_metadata() {
                Ok(metadata) => Ok(metadata.len()),
                Err(error) => Err(GitError::io("examine", &path)(error)),
            });
        let sizes: Vec<u64> = sizes.collect::<Result<_, _>>()?;
        Ok(sizes.into_iter().any(|size| size >= self.max_bytes))
    }

    /// Moves what was fetched to the repository's objects.
    pub(super) fn accept(self) -> Result<(), GitError> {
        let (packs, place) = (self.packs()?, self.objects.join("pack"));
        for part in PARTS {
            for path in packs
                .iter()
                .filter(|path| path.extension() == Some(OsStr::new(part)))
            {
                let Some(name) = path.file_name() else {
                    continue;
                };
                let to = place.join(name);
                // A pack is named for its content.
                if !to.exists() {
                    std::fs::rename(path, &to).map_err(GitError::io("move objects to", &to))?;
                }
            }
        }
        orchestrate_files::sync_folder(&place).map_err(GitError::io("write", &place))
    }

    fn packs(&self) -> Result<Vec<PathBuf>, GitError> {
        let folder = self.path().join("pack");
        // There is none if nothing was new.
        orchestrate_files::entries(&folder).map_err(GitError::io("list", &folder))
    }
}
