//! A temporary folder that is locked while its process lives.
//!
//! A killed process leaves its temporary folders behind. The lock ends with the process, so
//! [`sweep`] can tell the folders that are left from those in use.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::removal::remove_folder;
use crate::temporary::TemporaryFolder;

/// How often a folder is made again because a sweep removed it just before it was locked; more is
/// not a coincidence.
const TRIES: usize = 8;

/// A temporary folder that no [`sweep`] removes; removed with everything in it on drop.
#[derive(Debug)]
pub struct LockedFolder {
    folder: TemporaryFolder,
    /// Held until the folder is removed.
    _lock: OwnedFd,
}

impl LockedFolder {
    /// Creates and locks a folder in `place` with a name that begins with `prefix`.
    ///
    /// # Errors
    /// Fails if the folder cannot be created or locked.
    pub fn create(prefix: &str, place: &Path) -> io::Result<Self> {
        Self::made(place, || TemporaryFolder::create(prefix, Some(place)))
    }

    /// Locks the folder that `make` creates, or another one if a sweep has removed it meanwhile.
    fn made(
        place: &Path,
        mut make: impl FnMut() -> io::Result<TemporaryFolder>,
    ) -> io::Result<Self> {
        for _ in 0..TRIES {
            let folder = match make() {
                // A sweep removed it before its permissions were set.
                Err(error) if error.kind() == ErrorKind::NotFound && place.is_dir() => continue,
                made => made?,
            };
            let lock = match open(folder.path()) {
                Err(Errno::NOENT) => continue,
                opened => opened?,
            };
            // A sweep that holds the lock is about to remove the folder.
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if folder.path().exists() => {
                    return Ok(Self {
                        folder,
                        _lock: lock,
                    });
                }
                Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::BUSY.into())
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders in `place` with this prefix that killed processes left behind.
///
/// # Errors
/// Fails if `place` cannot be listed.
pub fn sweep(prefix: &str, place: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(place)?.filter_map(Result::ok) {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        // A folder of another user cannot be opened, nor can one that is being removed. Whatever
        // stays is examined next time.
        let Ok(lock) = open(&entry.path()) else {
            continue;
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            drop(remove_folder(&entry.path()));
        }
    }
    Ok(())
}

fn open(folder: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const PREFIX: &str = "locked-";

    #[test]
    fn only_folders_that_nobody_holds_are_swept() {
        let place = tempfile::tempdir().unwrap();
        let held = LockedFolder::create(PREFIX, place.path()).unwrap();
        let left = TemporaryFolder::create(PREFIX, Some(place.path()))
            .unwrap()
            .keep();
        std::fs::create_dir_all(left.join("refs/heads")).unwrap();
        let other = TemporaryFolder::create("other-", Some(place.path())).unwrap();
        sweep(PREFIX, place.path()).unwrap();
        assert_eq!(
            [held.path(), &left, other.path()].map(Path::exists),
            [true, false, true]
        );
        // A process that another test is starting may still have a copy of the descriptor.
        flock(&held._lock, FlockOperation::Unlock).unwrap();
        sweep(PREFIX, place.path()).unwrap();
        assert!(!held.path().exists());
    }

    /// A sweep may happen at any moment while a folder is created: before its permissions are set,
    /// or before it is locked.
    #[test]
    fn a_folder_that_a_sweep_took_while_it_was_made_is_made_again() {
        let place = tempfile::tempdir().unwrap();
        let mut made = 0;
        let folder = LockedFolder::made(place.path(), || {
            made += 1;
            let folder = TemporaryFolder::create(PREFIX, Some(place.path()))?;
            if made < 3 {
                sweep(PREFIX, place.path())?;
            }
            if made < 2 {
                std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))?;
            }
            Ok(folder)
        })
        .unwrap();
        assert_eq!((made, folder.path().exists()), (3, true));
    }

    #[test]
    fn no_folder_is_made_in_a_place_that_does_not_exist() {
        let error = LockedFolder::create(PREFIX, Path::new("/nowhere")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}
