//! Where the git directories of agents are: beside their worktrees, one folder for each, of which
//! only the git directory itself is shown to the agent's commands.

use std::path::{Path, PathBuf};

use orchestrate_files::if_there;

use crate::error::GitError;
use crate::files::openat;
use crate::repo::worktree::Worktree;

/// The folder beside the worktrees. No task's folder has such a name.
const FOLDER: &str = ".git-dirs";
/// The git directory.
const GIT_DIR: &str = "git";
/// The git directory until it is whole.
const MAKING: &str = "making";
/// The refs of the repository that it began with.
const SHOWN: &str = "shown-refs";
/// What both sides had when they were compared last.
const SYNCED: &str = "synced";
/// An index that is being made.
const INDEX: &str = "index";

/// The place of one agent's git directory.
#[derive(Clone, Debug)]
pub(crate) struct PrivatePlace {
    folder: PathBuf,
    /// Where the agent's git finds the repository's objects.
    objects: PathBuf,
}

impl PrivatePlace {
    /// Returns that of a worktree.
    pub(crate) fn beside(worktree: &Worktree) -> PrivatePlace {
        PrivatePlace {
            folder: folder_of(worktree.path()),
            objects: worktree.objects_seen(),
        }
    }

    /// Returns the git directory.
    pub(crate) fn git_dir(&self) -> PathBuf {
        self.folder.join(GIT_DIR)
    }

    pub(super) fn making(&self) -> PathBuf {
        self.folder.join(MAKING)
    }

    pub(super) fn shown(&self) -> PathBuf {
        self.folder.join(SHOWN)
    }

    pub(super) fn synced(&self) -> PathBuf {
        self.folder.join(SYNCED)
    }

    pub(super) fn index(&self) -> PathBuf {
        self.folder.join(INDEX)
    }

    /// Returns the content of the file that names the repository's objects.
    pub(super) fn alternates(&self) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt as _;
        [self.objects.as_os_str().as_bytes(), b"\n"].concat()
    }

    /// Removes everything, and makes the folder.
    pub(super) fn clear(&self) -> Result<(), GitError> {
        remove(&self.folder)?;
        orchestrate_files::create_folder(&self.folder).map_err(GitError::io("make", &self.folder))
    }

    /// Puts the git directory into its place once it is whole.
    pub(super) fn put(&self) -> Result<(), GitError> {
        let (from, to) = (self.making(), self.git_dir());
        std::fs::rename(&from, &to).map_err(GitError::io("move to its place", from))
    }

    /// Opens the git directory, unless it is missing or something else is in its place.
    pub(super) fn open(&self) -> Option<std::os::fd::OwnedFd> {
        openat::open_root(&self.git_dir()).ok()
    }
}

/// Returns the folder with the git directory of a worktree.
fn folder_of(worktree: &Path) -> PathBuf {
    let mut folder = worktree.parent().unwrap_or(worktree).join(FOLDER);
    folder.extend(worktree.file_name());
    folder
}

/// Removes the git directory of a worktree that is gone.
pub(crate) fn remove_of(worktree: &Path) -> Result<(), GitError> {
    let folder = folder_of(worktree);
    remove(&folder)?;
    // The last one takes the folder with it.
    if let Some(above) = folder.parent() {
        drop(std::fs::remove_dir(above));
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<(), GitError> {
    if_there(orchestrate_files::remove_folder(folder))
        .map(drop)
        .map_err(GitError::io("remove", folder))
}
