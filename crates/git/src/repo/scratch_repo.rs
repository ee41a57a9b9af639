//! The room in which git merges and writes files: an empty repository of ours, which borrows the real one's objects.
//!
//! Git finds no configuration here but ours, and no attributes but those that are laid out; no promise of a remote to
//! send what is missing, no hook and no alias. So whatever a repository configures, and on whatever condition, is not
//! there.
//!
//! A room is in the temporary folder, which nobody else can enter, and goes with the value, which serves one run after
//! another. A process that is killed leaves its room behind, so each is locked while it is in use, which ends with the
//! process, and [`sweep`] removes those that nobody has locked. Git that goes on without us has a room of its own,
//! which whoever holds the repository's lock next makes anew.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_files::{Links, TemporaryFolder};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::GitError;
use crate::repo::lock::Held;
use crate::store::openat;

/// How the name of a room begins.
const PREFIX: &str = "orchestrate-room-";
/// How often a room is made anew that a sweep took in the instant before it was locked; more is no accident.
const TRIES: usize = 8;
/// The file that names the attributes of its folder.
const ATTRIBUTES: &[u8] = b".gitattributes";
/// The files of a repository that say which files git ignores, and how it writes them.
const INFO: [&str; 2] = ["info/attributes", "info/exclude"];
/// The largest of them that is taken over; those that people write have some dozens of lines.
const INFO_BYTES: u64 = 4 << 20;

/// An empty repository that borrows the real one's objects.
#[derive(Debug)]
pub(crate) struct Room {
    folder: PathBuf,
    /// A working tree with nothing in it, except attributes for a git that must find them as files.
    work_tree: PathBuf,
    /// What removes the room, and tells a sweep that it is in use; `None` for that of a git which goes on without us.
    _own: Option<(TemporaryFolder, OwnedFd)>,
}

impl Room {
    /// Makes a room without branches.
    pub(crate) fn new() -> Result<Room, GitError> {
        let (folder, locked) = claim()?;
        let path = folder.path().to_owned();
        Self::furnish(path, Some((folder, locked)))
    }

    /// Makes the room of the git that goes on under this lock if we are killed.
    pub(crate) fn under(held: &Held) -> Result<Room, GitError> {
        let path = held.folder().join("room");
        match orchestrate_files::remove_folder(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(GitError::Io { doing: "remove", path, source: error });
            }
            _ => {}
        }
        orchestrate_files::create_folder(&path).map_err(GitError::io("make", &path))?;
        Self::furnish(path, None)
    }

    fn furnish(folder: PathBuf, own: Option<(TemporaryFolder, OwnedFd)>) -> Result<Room, GitError> {
        let work_tree = folder.join("tree");
        for made in [folder.join("refs/heads"), folder.join("objects"), folder.join("info"), work_tree.clone()] {
            orchestrate_files::create_folder(&made).map_err(GitError::io("make", &made))?;
        }
        let room = Room { folder, work_tree, _own: own };
        room.write("HEAD", b"ref: refs/heads/integration\n")?;
        room.write("config", b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
        Ok(room)
    }

    /// Lets branches of these names be at these commits.
    pub(crate) fn name(&self, branches: [(&str, &Oid); 2]) -> Result<(), GitError> {
        branches.into_iter().try_for_each(|(name, oid)| {
            let path = Path::new("refs/heads").join(name);
            self.write(path, format!("{oid}\n").as_bytes())
        })
    }

    /// Takes over what a repository says, in no commit, about its files: which it ignores, and how they are written.
    pub(crate) fn take_over_info(&self, common_dir: &Path) -> Result<(), GitError> {
        for name in INFO {
            if let Some(text) = read_info(&common_dir.join(name))? {
                self.write(name, &text)?;
            }
        }
        Ok(())
    }

    fn write(&self, name: impl AsRef<Path>, text: &[u8]) -> Result<(), GitError> {
        let path = self.folder.join(name);
        orchestrate_files::write(&path, text).map_err(GitError::io("write", &path))
    }

    /// Returns the git directory.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.folder
    }

    /// Returns the working tree.
    pub(crate) fn work_tree(&self) -> &Path {
        &self.work_tree
    }

    /// Writes the attributes of a tree into the working tree, each in its folder.
    pub(crate) fn lay_out_attributes(&self, repository: &git2::Repository, tree: &git2::Tree) -> Result<(), GitError> {
        let root = openat::open_root(&self.work_tree).map_err(GitError::errno("open", &self.work_tree))?;
        let mut found = Vec::new();
        tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if entry.name_bytes() == ATTRIBUTES {
                found.push((folder.trim_end_matches('/').to_owned(), entry.id()));
            }
            git2::TreeWalkResult::Ok
        })
        .map_err(GitError::library(format!("read the tree {}", tree.id())))?;
        for (folder, id) in found {
            let blob = repository.find_blob(id).map_err(GitError::library(format!("read {id}")))?;
            let failed = || GitError::errno("write attributes below", &self.work_tree);
            let opened = openat::make_folder(&root, folder.as_bytes()).map_err(failed())?;
            openat::write(&opened, ATTRIBUTES, blob.content(), false).map_err(failed())?;
        }
        Ok(())
    }
}

/// Reads a plain file of a repository's, if there is one.
pub(crate) fn read_info(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    match orchestrate_files::read_plain(path, Links::Anywhere, INFO_BYTES) {
        Ok(text) if text.len() as u64 > INFO_BYTES => {
            Err(GitError::TooLarge { path: path.to_owned(), what: "the size in bytes", limit: INFO_BYTES })
        }
        Ok(text) => Ok(Some(text)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
            ErrorKind::IsADirectory | ErrorKind::InvalidInput => {
                let reason = "it is no plain file".to_owned();
                Err(GitError::Unstorable { path: path.to_owned(), reason })
            }
            _ => Err(GitError::io("read", path)(error)),
        },
    }
}

/// Removes the rooms that killed processes left.
///
/// # Errors
/// If the temporary folder cannot be listed.
pub(crate) fn sweep() -> Result<(), GitError> {
    sweep_in(&std::env::temp_dir())
}

fn sweep_in(place: &Path) -> Result<(), GitError> {
    let rooms = std::fs::read_dir(place).map_err(GitError::io("list", place))?;
    let is_room = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for room in rooms.filter_map(Result::ok).filter(is_room).map(|entry| entry.path()) {
        // Another user's room cannot be opened, nor can one that is just going; what stays is looked at next time.
        let Ok(opened) = open(&room) else { continue };
        if flock(&opened, FlockOperation::NonBlockingLockExclusive).is_ok() {
            drop(orchestrate_files::remove_folder(&room));
        }
    }
    Ok(())
}

/// Makes an empty folder and locks it.
fn claim() -> Result<(TemporaryFolder, OwnedFd), GitError> {
    let place = std::env::temp_dir();
    claim_made(&place, || TemporaryFolder::create(PREFIX, Some(&place)))
}

/// Locks the folder that this makes, or another one if a sweep was quicker.
fn claim_made(
    place: &Path,
    mut make: impl FnMut() -> io::Result<TemporaryFolder>,
) -> Result<(TemporaryFolder, OwnedFd), GitError> {
    let failed = |error: Errno| GitError::errno("lock a folder in", place)(error);
    for _ in 0..TRIES {
        let folder = match make() {
            // A sweep took it before it was ours alone.
            Err(error) if error.kind() == ErrorKind::NotFound && place.is_dir() => continue,
            made => made.map_err(GitError::io("create a folder for merging in", place))?,
        };
        let locked = match open(folder.path()) {
            Err(Errno::NOENT) => continue,
            opened => opened.map_err(failed)?,
        };
        // A sweep that has it locked is about to remove it.
        match flock(&locked, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if folder.path().exists() => return Ok((folder, locked)),
            Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(Errno::BUSY))
}

fn open(room: &Path) -> Result<OwnedFd, Errno> {
    openat::open_folder(openat::open_root(room)?, b"")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_rooms_that_nobody_is_in_are_swept() {
        let place = tempfile::tempdir().unwrap();
        let make = || TemporaryFolder::create(PREFIX, Some(place.path()));
        let (held, locked) = claim_made(place.path(), make).unwrap();
        let left = make().unwrap().keep();
        std::fs::create_dir_all(left.join("refs/heads")).unwrap();
        sweep_in(place.path()).unwrap();
        assert_eq!((held.path().exists(), left.exists()), (true, false));
        // A process that another test is starting may still have a copy of the file.
        flock(&locked, FlockOperation::Unlock).unwrap();
        sweep_in(place.path()).unwrap();
        assert!(!held.path().exists());
    }

    /// A sweep may come at any moment while a room is made: before its rights are set, or before it is locked.
    #[test]
    fn a_room_that_a_sweep_took_while_it_was_made_is_made_again() {
        let place = tempfile::tempdir().unwrap();
        let mut made = 0;
        let (room, _locked) = claim_made(place.path(), || {
            made += 1;
            let folder = TemporaryFolder::create(PREFIX, Some(place.path()))?;
            if made < 3 {
                sweep_in(place.path()).unwrap();
            }
            if made < 2 {
                std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))?;
            }
            Ok(folder)
        })
        .unwrap();
        assert_eq!((made, room.path().exists()), (3, true));
    }

    #[test]
    fn no_room_is_made_in_a_folder_that_there_is_not() {
        let place = Path::new("/nowhere");
        let error = claim_made(place, || TemporaryFolder::create(PREFIX, Some(place))).unwrap_err();
        assert!(matches!(&error, GitError::Io { source, .. } if source.kind() == ErrorKind::NotFound), "{error}");
    }
}
