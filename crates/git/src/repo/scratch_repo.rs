//! The scratch repository in which git merges and writes files: an empty repository of ours that borrows the real one's
//! objects.
//!
//! Git finds no configuration there except ours, no attributes except those that we write, no
//! remote that has promised missing objects, no hook and no alias. So nothing that a repository
//! configures, under any condition, has an effect.
//!
//! A scratch repository is a folder in the temporary folder that only this user can enter. It is removed when the value
//! is dropped, and one scratch repository serves several runs of git. A killed process leaves its scratch repository
//! behind. So each scratch repository is locked while it is in use, the lock ends with the process, and [`sweep`]
//! removes scratch repositories that are not locked. A git that outlives us has a scratch repository of its own, which
//! the next holder of the repository's lock recreates.

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

/// The prefix of a scratch repository's folder name.
const PREFIX: &str = "orchestrate-scratch-";
/// How often a scratch repository is recreated because a sweep removed it just before it was locked; more is not a
/// coincidence.
const TRIES: usize = 8;
/// What every scratch repository has configured.
const CONFIG: &[u8] = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
/// The name of the file with the attributes of a folder.
const ATTRIBUTES: &[u8] = b".gitattributes";
/// The files in a git directory that determine which files git ignores, and how it writes files.
const INFO: [&str; 2] = ["info/attributes", "info/exclude"];
/// The largest such file that is copied; those that people write have some dozens of lines.
const INFO_BYTES: u64 = 4 << 20;

/// An empty repository that borrows the real one's objects.
#[derive(Debug)]
pub(crate) struct ScratchRepo {
    folder: PathBuf,
    /// An empty working tree, except for attributes if git must find them as files.
    work_tree: PathBuf,
    /// Removes the scratch repository when dropped, and shows a sweep that it is in use; `None` for the scratch
    /// repository of a git that outlives us.
    _own: Option<(TemporaryFolder, OwnedFd)>,
}

impl ScratchRepo {
    /// Creates a scratch repository without branches.
    pub(crate) fn new() -> Result<ScratchRepo, GitError> {
        let (folder, locked) = claim()?;
        let path = folder.path().to_owned();
        Self::furnish(path, Some((folder, locked)))
    }

    /// Creates the scratch repository for a git that keeps running under this lock if we are killed.
    pub(crate) fn under(held: &Held) -> Result<ScratchRepo, GitError> {
        let path = held.folder().join("scratch");
        match orchestrate_files::remove_folder(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(GitError::Io { doing: "remove", path, source: error });
            }
            _ => {}
        }
        orchestrate_files::create_folder(&path).map_err(GitError::io("make", &path))?;
        Self::furnish(path, None)
    }

    fn furnish(folder: PathBuf, own: Option<(TemporaryFolder, OwnedFd)>) -> Result<ScratchRepo, GitError> {
        let work_tree = folder.join("tree");
        for made in [folder.join("refs/heads"), folder.join("objects"), folder.join("info"), work_tree.clone()] {
            orchestrate_files::create_folder(&made).map_err(GitError::io("make", &made))?;
        }
        let scratch = ScratchRepo { folder, work_tree, _own: own };
        scratch.write("HEAD", b"ref: refs/heads/integration\n")?;
        scratch.write("config", CONFIG)?;
        Ok(scratch)
    }

    /// Sets branches with these names to these commits.
    pub(crate) fn name(&self, branches: [(&str, &Oid); 2]) -> Result<(), GitError> {
        branches.into_iter().try_for_each(|(name, oid)| {
            let path = Path::new("refs/heads").join(name);
            self.write(path, format!("{oid}\n").as_bytes())
        })
    }

    /// Copies what a repository specifies outside of its commits about its files: which are
    /// ignored, and how they are written.
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

    /// Writes a message for git to read, and returns its path.
    pub(crate) fn leave_message(&self, text: &str) -> Result<PathBuf, GitError> {
        self.leave("message", text)
    }

    /// Writes a file of this name for git to read, and returns its path.
    pub(crate) fn leave(&self, name: &str, text: &str) -> Result<PathBuf, GitError> {
        self.write(name, text.as_bytes())?;
        Ok(self.folder.join(name))
    }

    /// Sets what git finds configured in the scratch repository, by settings in the syntax of its files; of two values
    /// for one key, the later counts.
    pub(crate) fn configure(&self, settings: impl Iterator<Item = Vec<u8>>) -> Result<(), GitError> {
        let text: Vec<u8> = std::iter::once(CONFIG.to_vec()).chain(settings).flatten().collect();
        self.write("config", &text)
    }

    /// Returns the scratch repository's git directory.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.folder
    }

    /// Returns the scratch repository's working tree.
    pub(crate) fn work_tree(&self) -> &Path {
        &self.work_tree
    }

    /// Writes the attributes files of a tree into the working tree, each in its folder.
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

/// Reads a regular file of a repository, or returns `None` if there is none.
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

/// Removes the scratch repositories that killed processes left behind.
///
/// # Errors
/// If the temporary folder cannot be listed.
pub(crate) fn sweep() -> Result<(), GitError> {
    sweep_in(&std::env::temp_dir())
}

fn sweep_in(place: &Path) -> Result<(), GitError> {
    let all = std::fs::read_dir(place).map_err(GitError::io("list", place))?;
    let is_scratch = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for scratch in all.filter_map(Result::ok).filter(is_scratch).map(|entry| entry.path()) {
        // A scratch repository of another user cannot be opened, nor can one that is being removed. Whatever
        // stays is examined next time.
        let Ok(opened) = open(&scratch) else { continue };
        if flock(&opened, FlockOperation::NonBlockingLockExclusive).is_ok() {
            drop(orchestrate_files::remove_folder(&scratch));
        }
    }
    Ok(())
}

/// Creates an empty folder and locks it.
fn claim() -> Result<(TemporaryFolder, OwnedFd), GitError> {
    let place = std::env::temp_dir();
    claim_made(&place, || TemporaryFolder::create(PREFIX, Some(&place)))
}

/// Locks the folder that `make` creates, or another one if a sweep has removed it meanwhile.
fn claim_made(
    place: &Path,
    mut make: impl FnMut() -> io::Result<TemporaryFolder>,
) -> Result<(TemporaryFolder, OwnedFd), GitError> {
    let failed = |error: Errno| GitError::errno("lock a folder in", place)(error);
    for _ in 0..TRIES {
        let folder = match make() {
            // A sweep removed it before its permissions were set.
            Err(error) if error.kind() == ErrorKind::NotFound && place.is_dir() => continue,
            made => made.map_err(GitError::io("create a folder for merging in", place))?,
        };
        let locked = match open(folder.path()) {
            Err(Errno::NOENT) => continue,
            opened => opened.map_err(failed)?,
        };
        // A sweep that holds the lock is about to remove the scratch repository.
        match flock(&locked, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if folder.path().exists() => return Ok((folder, locked)),
            Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(Errno::BUSY))
}

fn open(scratch: &Path) -> Result<OwnedFd, Errno> {
    openat::open_folder(openat::open_root(scratch)?, b"")
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
        // A process that another test is starting may still have a copy of the descriptor.
        flock(&locked, FlockOperation::Unlock).unwrap();
        sweep_in(place.path()).unwrap();
        assert!(!held.path().exists());
    }

    /// A sweep may happen at any moment while a scratch repository is created: before its permissions are set, or
    /// before it is locked.
    #[test]
    fn a_room_that_a_sweep_took_while_it_was_made_is_made_again() {
        let place = tempfile::tempdir().unwrap();
        let mut made = 0;
        let (scratch, _locked) = claim_made(place.path(), || {
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
        assert_eq!((made, scratch.path().exists()), (3, true));
    }

    #[test]
    fn no_room_is_made_in_a_folder_that_there_is_not() {
        let place = Path::new("/nowhere");
        let error = claim_made(place, || TemporaryFolder::create(PREFIX, Some(place))).unwrap_err();
        assert!(matches!(&error, GitError::Io { source, .. } if source.kind() == ErrorKind::NotFound), "{error}");
    }
}
