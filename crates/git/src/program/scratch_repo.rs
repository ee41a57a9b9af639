//! The scratch repository in which git merges and writes files: an empty repository of ours that
//! borrows the real one's objects.
//!
//! Git finds no configuration there except ours, no attributes except those that we write, no
//! remote that has promised missing objects, no hook and no alias. So nothing that a repository
//! configures, under any condition, has an effect.
//!
//! A scratch repository is a folder in the temporary folder that only this user can enter. It is
//! removed when the value is dropped, and one scratch repository serves several runs of git. A
//! killed process leaves its scratch repository behind, which [`sweep`] tells from those in use by
//! their locks. A git that outlives us has a scratch repository of its own, which the next holder
//! of the repository's lock recreates.

use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_files::{LockedFolder, if_there};

use crate::error::GitError;
use crate::files::bounds::read_info;
use crate::files::openat;
use crate::program::lock::Held;

/// The prefix of a scratch repository's folder name.
const PREFIX: &str = "orchestrate-scratch-";
/// What every scratch repository has configured.
const CONFIG: &[u8] = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
/// The name of the file with the attributes of a folder.
const ATTRIBUTES: &[u8] = b".gitattributes";
/// The files in a git directory that determine which files git ignores, and how it writes files.
const INFO: [&str; 2] = ["info/attributes", "info/exclude"];

/// An empty repository that borrows the real one's objects.
#[derive(Debug)]
pub(crate) struct ScratchRepo {
    folder: PathBuf,
    /// An empty working tree, except for attributes if git must find them as files.
    work_tree: PathBuf,
    /// Removes the scratch repository when dropped, and shows a sweep that it is in use; `None` for
    /// the scratch repository of a git that outlives us.
    _own: Option<LockedFolder>,
}

impl ScratchRepo {
    /// Creates a scratch repository without branches.
    pub(crate) fn new() -> Result<ScratchRepo, GitError> {
        let place = std::env::temp_dir();
        let folder = LockedFolder::create(PREFIX, &place);
        let folder = folder.map_err(GitError::io("create a folder for merging in", &place))?;
        Self::furnish(folder.path().to_owned(), Some(folder))
    }

    /// Creates the scratch repository for a git that keeps running under this lock if we are
    /// killed.
    pub(crate) fn under(held: &Held) -> Result<ScratchRepo, GitError> {
        let path = held.folder().join("scratch");
        if_there(orchestrate_files::remove_folder(&path)).map_err(GitError::io("remove", &path))?;
        orchestrate_files::create_folder(&path).map_err(GitError::io("make", &path))?;
        Self::furnish(path, None)
    }

    fn furnish(folder: PathBuf, own: Option<LockedFolder>) -> Result<ScratchRepo, GitError> {
        let work_tree = folder.join("tree");
        for made in [
            folder.join("refs/heads"),
            folder.join("objects"),
            folder.join("info"),
            work_tree.clone(),
        ] {
            orchestrate_files::create_folder(&made).map_err(GitError::io("make", &made))?;
        }
        let scratch = ScratchRepo {
            folder,
            work_tree,
            _own: own,
        };
        scratch.write("HEAD", b"ref: refs/heads/integration\n")?;
        scratch.write("config", CONFIG)?;
        Ok(scratch)
    }

    /// Sets branches with these names to these commits.
    pub(crate) fn name(&self, branches: [(&str, &Oid); 2]) -> Result<(), GitError> {
        for (name, oid) in branches {
            let path = Path::new("refs/heads").join(name);
            self.write(path, format!("{oid}\n").as_bytes())?;
        }
        Ok(())
    }

    /// Copies what a repository specifies outside of its commits about its files: which are
    /// ignored, and how they are written.
    pub(crate) fn take_over_info(&self, common_dir: &Path) -> Result<(), GitError> {
        for name in INFO {
            match read_info(&common_dir.join(name))? {
                Some(text) => self.write(name, &text)?,
                None => {
                    let path = self.folder.join(name);
                    if_there(std::fs::remove_file(&path)).map_err(GitError::io("remove", &path))?;
                }
            }
        }
        Ok(())
    }

    /// Reports whether it still exists: something may remove old files from the temporary folder.
    pub(crate) fn is_there(&self) -> bool {
        ["HEAD", "config", "objects", "refs/heads", "info"]
            .iter()
            .all(|name| self.folder.join(name).exists())
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

    /// Writes a file of this name with any bytes, and returns its path.
    pub(crate) fn leave_bytes(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, GitError> {
        self.write(name, bytes)?;
        Ok(self.folder.join(name))
    }

    /// Sets what git finds configured in the scratch repository, by settings in the syntax of its
    /// files; of two values for one key, the later counts.
    pub(crate) fn configure(
        &self,
        settings: impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), GitError> {
        let text: Vec<u8> = std::iter::once(CONFIG.to_vec())
            .chain(settings)
            .flatten()
            .collect();
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
    pub(crate) fn lay_out_attributes(
        &self,
        repository: &git2::Repository,
        tree: &git2::Tree,
    ) -> Result<(), GitError> {
        let root =
            openat::open_root(&self.work_tree).map_err(GitError::errno("open", &self.work_tree))?;
        let mut found = Vec::new();
        tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if entry.name_bytes() == ATTRIBUTES {
                found.push((folder.trim_end_matches('/').to_owned(), entry.id()));
            }
            git2::TreeWalkResult::Ok
        })
        .map_err(GitError::library(format!("read the tree {}", tree.id())))?;
        for (folder, id) in found {
            let blob = repository
                .find_blob(id)
                .map_err(GitError::library(format!("read {id}")))?;
            let failed = GitError::errno("write attributes below", &self.work_tree);
            let opened = openat::make_folder(&root, folder.as_bytes()).map_err(&failed)?;
            openat::write(&opened, ATTRIBUTES, blob.content(), false).map_err(&failed)?;
        }
        Ok(())
    }
}

/// Removes the scratch repositories that killed processes left behind.
///
/// # Errors
/// If the temporary folder cannot be listed.
pub(crate) fn sweep() -> Result<(), GitError> {
    let place = std::env::temp_dir();
    orchestrate_files::sweep(PREFIX, &place).map_err(GitError::io("list", &place))
}
