//! The room in which git merges: an empty repository that borrows the real one's objects, in the temporary folder.
//!
//! It goes with the value, which serves one merge after another. A process that is killed leaves its room behind, so
//! each is locked while it is in use, which ends with the process, and [`sweep`] removes those that nobody has locked.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::beneath;
use crate::error::GitError;

/// How the name of a room begins.
const PREFIX: &str = "orchestrate-room-";
/// How often a room is made anew that a sweep took in the instant before it was locked; more is no accident.
const TRIES: usize = 8;
/// The file that names the attributes of its folder.
const ATTRIBUTES: &[u8] = b".gitattributes";

/// An empty repository that borrows the real one's objects.
#[derive(Debug)]
pub(crate) struct Room {
    folder: tempfile::TempDir,
    /// A working tree with nothing in it, except attributes for a git that must find them as files.
    work_tree: PathBuf,
    /// Tells a sweep that the room is in use.
    _locked: OwnedFd,
}

impl Room {
    /// Makes a room without branches.
    pub(crate) fn new() -> Result<Room, GitError> {
        let failed = |path: &Path| GitError::io("make a place to merge in", path.to_owned());
        let (folder, locked) = claim()?;
        let heads = folder.path().join("refs/heads");
        std::fs::create_dir_all(&heads).map_err(failed(&heads))?;
        std::fs::create_dir(folder.path().join("objects")).map_err(failed(folder.path()))?;
        let work_tree = folder.path().join("tree");
        std::fs::create_dir(&work_tree).map_err(failed(&work_tree))?;
        let write = |path: PathBuf, text: &str| std::fs::write(&path, text).map_err(failed(&path));
        write(folder.path().join("HEAD"), "ref: refs/heads/integration\n")?;
        write(folder.path().join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
        Ok(Room { folder, work_tree, _locked: locked })
    }

    /// Lets branches of these names be at these commits.
    pub(crate) fn name(&self, branches: [(&str, &Oid); 2]) -> Result<(), GitError> {
        branches.into_iter().try_for_each(|(name, oid)| {
            let path = self.folder.path().join("refs/heads").join(name);
            std::fs::write(&path, format!("{oid}\n")).map_err(GitError::io("write", &path))
        })
    }

    /// Gives the git directory.
    pub(crate) fn git_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Gives the working tree.
    pub(crate) fn work_tree(&self) -> &Path {
        &self.work_tree
    }

    /// Writes the attributes of a tree into the working tree, each in its folder.
    pub(crate) fn lay_out_attributes(&self, repository: &git2::Repository, tree: &git2::Tree) -> Result<(), GitError> {
        let root = beneath::open_root(&self.work_tree).map_err(GitError::errno("open", &self.work_tree))?;
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
            let opened = beneath::make_folder(&root, folder.as_bytes()).map_err(failed())?;
            beneath::write(&opened, ATTRIBUTES, blob.content(), false).map_err(failed())?;
        }
        Ok(())
    }
}

/// Removes the rooms that killed processes left.
///
/// # Errors
/// If the temporary folder cannot be listed.
pub(crate) fn sweep() -> Result<(), GitError> {
    let place = std::env::temp_dir();
    let rooms = std::fs::read_dir(&place).map_err(GitError::io("list", &place))?;
    let is_room = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for room in rooms.filter_map(Result::ok).filter(is_room).map(|entry| entry.path()) {
        // Another user's room cannot be opened, nor can one that is just going; what stays is looked at next time.
        let Ok(opened) = open(&room) else { continue };
        if flock(&opened, FlockOperation::NonBlockingLockExclusive).is_ok() {
            drop(std::fs::remove_dir_all(&room));
        }
    }
    Ok(())
}

/// Makes an empty folder and locks it.
fn claim() -> Result<(tempfile::TempDir, OwnedFd), GitError> {
    let place = std::env::temp_dir();
    let failed = |error: Errno| GitError::errno("lock a folder in", &place)(error);
    for _ in 0..TRIES {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir();
        let folder = folder.map_err(GitError::io("make a place to merge in", &place))?;
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
    beneath::open_folder(beneath::open_root(room)?, b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rooms_that_nobody_is_in_are_swept() {
        let (held, locked) = claim().unwrap();
        let left = tempfile::Builder::new().prefix(PREFIX).tempdir().unwrap().keep();
        std::fs::create_dir_all(left.join("refs/heads")).unwrap();
        sweep().unwrap();
        assert_eq!((held.path().exists(), left.exists()), (true, false));
        drop(locked);
        sweep().unwrap();
        assert!(!held.path().exists());
    }
}
