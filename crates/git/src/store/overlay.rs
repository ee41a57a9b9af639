//! Trees that have some paths of one tree, and everything else of another.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Index, ObjectType, Repository};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::files::index_entry::unread_entry;
use crate::program::retry;
use crate::repo::repository::{ours, tree_of};
use crate::store::objects::Store;

impl Store<'_> {
    /// Stores a tree that has each of the paths, and everything below it, as `from` has it, and
    /// everything else as `onto` has it (both are trees or commits). An empty path is the whole
    /// tree.
    ///
    /// # Errors
    /// If a tree is missing, or the disk is full.
    pub fn overlay(&self, onto: &Oid, from: &Oid, paths: &[PathBuf]) -> Result<Oid, GitError> {
        let failed = GitError::library(format!("put paths of {from} into {onto}"));
        let mut changed = self.changed_paths(onto, from)?;
        changed.retain(|path| paths.iter().any(|within| path.starts_with(within)));
        let handle = self.repo.handle()?;
        let mut index = Index::new().map_err(&failed)?;
        index.read_tree(&tree_of(&handle, onto)?).map_err(&failed)?;
        let wanted = changed
            .into_iter()
            .map(|path| Ok((entry(&handle, from, &path)?, path)));
        let wanted: Vec<_> = wanted.collect::<Result<_, GitError>>()?;
        // A folder may take the place of a file, so files are removed first.
        for (_, path) in wanted.iter().filter(|(entry, _)| entry.is_none()) {
            index.remove(path, 0).map_err(&failed)?;
        }
        for (entry, path) in &wanted {
            if let Some((id, mode)) = entry {
                let mode = u32::try_from(*mode).unwrap_or_default();
                index
                    .add(&unread_entry(path.as_os_str().as_bytes(), mode, *id))
                    .map_err(&failed)?;
            }
        }
        retry::while_swept(|| index.write_tree_to(&handle))
            .map(ours)
            .map_err(&failed)
    }

    /// Reports whether a tree (or commit) has a file or folder at a path.
    ///
    /// # Errors
    /// If the tree is missing.
    pub fn has_path(&self, treeish: &Oid, path: &Path) -> Result<bool, GitError> {
        let handle = self.repo.handle()?;
        let tree = tree_of(&handle, treeish)?;
        if path.as_os_str().is_empty() {
            return Ok(true);
        }
        match tree.get_path(path) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(false),
            Err(error) => Err(GitError::library(format!(
                "read {} of {treeish}",
                path.display()
            ))(error)),
        }
    }

    /// Reports whether two trees (or commits) have the same file at a path, or both have none.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn is_same_at(&self, one: &Oid, two: &Oid, path: &Path) -> Result<bool, GitError> {
        let handle = self.repo.handle()?;
        Ok(entry(&handle, one, path)? == entry(&handle, two, path)?)
    }
}

/// Returns the content's id and the mode of a file in a tree, if it has that file, or the commit of
/// a submodule.
pub(crate) fn entry(
    repository: &Repository,
    treeish: &Oid,
    path: &Path,
) -> Result<Option<(git2::Oid, i32)>, GitError> {
    match tree_of(repository, treeish)?.get_path(path) {
        Ok(entry) if matches!(entry.kind(), Some(ObjectType::Blob | ObjectType::Commit)) => {
            Ok(Some((entry.id(), entry.filemode())))
        }
        Ok(_) => Ok(None),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(GitError::library(format!(
            "read {} of {treeish}",
            path.display()
        ))(error)),
    }
}
