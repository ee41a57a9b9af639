//! Checks whether the contents of a worktree are also stored elsewhere, so that they survive its
//! removal.

use std::collections::BTreeSet;
use std::path::Path;

use orchestrate_core::Oid;

use crate::error::GitError;
use crate::repo::refs::branch_ref;
use crate::repo::repository::{Repo, ours, theirs, tree_of};
use crate::repo::worktree::Worktree;
use crate::store::conflicts::drop_conflicts;
use crate::store::walk::Found;
use crate::worktree::worktrees::{Removed, Worktrees};

/// The files of a worktree, of which it is known that they are stored.
#[must_use]
#[derive(Debug)]
pub struct KeptFiles {
    tree: Oid,
    /// What else is in the worktree.
    pub(crate) found: Found,
}

impl KeptFiles {
    /// Returns the tree of the files.
    pub fn tree(&self) -> &Oid {
        &self.tree
    }
}

impl Worktrees<'_> {
    /// Checks that a worktree's files, and its staged changes, are stored: the tree of each must be
    /// that of the branch, or of a ref of ours.
    ///
    /// Files that are in no tree are not considered: see [`Worktrees::uncommitted`]. Commits that
    /// no branch holds, and an operation that a person has not finished, such as a rebase, would be
    /// lost with the worktree, too.
    ///
    /// # Errors
    /// [`GitError::Unkept`], [`GitError::StagedAlone`], [`GitError::HeadAlone`] or
    /// [`GitError::UnfinishedOperation`] if they are not.
    pub fn require_kept(&self, worktree: &Worktree) -> Result<KeptFiles, GitError> {
        self.require_at_rest_in(worktree)?;
        let (tree, found) = self.repo.store().current_files(worktree)?;
        let mut kept = KeptTrees::new(self.repo, worktree);
        if !kept.contains(&tree)? || !self.is_stored(&tree)? {
            return Err(GitError::Unkept {
                path: worktree.path().to_owned(),
            });
        }
        if kept.contains(&self.staged_tree(worktree)?)? {
            Ok(KeptFiles { tree, found })
        } else {
            Err(GitError::StagedAlone {
                path: worktree.path().to_owned(),
            })
        }
    }

    /// Removes a worktree like [`Worktrees::remove`], of whose files it is known that they are
    /// stored.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn remove_kept(
        &self,
        worktree: &Worktree,
        _: KeptFiles,
        trash: &Path,
    ) -> Result<Removed, GitError> {
        self.move_to_trash(worktree.path(), Some(worktree.admin_dir()), trash)
    }

    fn require_at_rest_in(&self, worktree: &Worktree) -> Result<(), GitError> {
        let path = || worktree.path().to_owned();
        if let Some(operation) = self.repo.operation_in(worktree.admin_dir())? {
            return Err(GitError::UnfinishedOperation {
                path: path(),
                operation,
            });
        }
        if worktree.branch().is_none() {
            return Err(GitError::HeadAlone { path: path() });
        }
        Ok(())
    }

    /// Reports whether all objects below a tree exist: a concurrent `git gc --prune=now` may have
    /// removed some.
    fn is_stored(&self, tree: &Oid) -> Result<bool, GitError> {
        let (handle, mut missing) = (self.repo.handle()?, false);
        let objects = handle
            .odb()
            .map_err(GitError::library("open the objects"))?;
        let walked = tree_of(&handle, tree)?.walk(git2::TreeWalkMode::PreOrder, |_, entry| {
            // The commit of a submodule is in another repository.
            missing |=
                entry.kind() != Some(git2::ObjectType::Commit) && !objects.exists(entry.id());
            if missing {
                git2::TreeWalkResult::Abort
            } else {
                git2::TreeWalkResult::Ok
            }
        });
        match walked {
            Err(error) if !missing => {
                Err(GitError::library(format!("read the tree {tree}"))(error))
            }
            _ => Ok(!missing),
        }
    }

    /// Returns the tree that is staged in a worktree, unless it is one of `known` or is held by the
    /// branch or a ref of ours. Such a tree was staged by a person, because our snapshots leave the
    /// index at a tree that they keep.
    ///
    /// # Errors
    /// If the index or a ref cannot be read.
    pub fn staged_alone(
        &self,
        worktree: &Worktree,
        known: &[Oid],
    ) -> Result<Option<Oid>, GitError> {
        let staged = self.staged_tree(worktree)?;
        if known.contains(&staged) {
            return Ok(None);
        }
        Ok((!KeptTrees::new(self.repo, worktree).contains(&staged)?).then_some(staged))
    }

    /// Stores the tree of a worktree's index, without the paths in conflict.
    fn staged_tree(&self, worktree: &Worktree) -> Result<Oid, GitError> {
        let failed = || {
            GitError::library(format!(
                "read what is staged in {}",
                worktree.path().display()
            ))
        };
        let mut index = git2::Index::open(&worktree.admin_dir().join("index")).map_err(failed())?;
        drop_conflicts(&mut index)?;
        index
            .write_tree_to(&*self.repo.handle()?)
            .map(ours)
            .map_err(failed())
    }
}

/// The trees that are held by a worktree's branch and by our refs. The refs, of which a run has
/// many, are read only if the branch does not hold a tree.
struct KeptTrees<'a> {
    repo: &'a Repo,
    worktree: &'a Worktree,
    by_branch: Option<Option<Oid>>,
    by_refs: Option<BTreeSet<Oid>>,
}

impl<'a> KeptTrees<'a> {
    fn new(repo: &'a Repo, worktree: &'a Worktree) -> Self {
        Self {
            repo,
            worktree,
            by_branch: None,
            by_refs: None,
        }
    }

    fn contains(&mut self, tree: &Oid) -> Result<bool, GitError> {
        let by_branch = match &self.by_branch {
            Some(known) => known,
            None => self.by_branch.insert(self.of_branch()?),
        };
        if by_branch.as_ref() == Some(tree) {
            return Ok(true);
        }
        let by_refs = match &self.by_refs {
            Some(known) => known,
            None => self.by_refs.insert(self.of_refs()?),
        };
        Ok(by_refs.contains(tree))
    }

    fn of_branch(&self) -> Result<Option<Oid>, GitError> {
        let Some(branch) = self.worktree.branch() else {
            return Ok(None);
        };
        match self.repo.read_ref(&branch_ref(branch))? {
            Some(target) => self.tree_of(&target),
            None => Ok(None),
        }
    }

    fn of_refs(&self) -> Result<BTreeSet<Oid>, GitError> {
        let mut trees = BTreeSet::new();
        for kept in self.repo.refs_below("refs/orchestrate/")? {
            trees.extend(self.tree_of(&kept.target)?);
        }
        Ok(trees)
    }

    /// Returns the tree of an object, if it has one.
    fn tree_of(&self, target: &Oid) -> Result<Option<Oid>, GitError> {
        let handle = self.repo.handle()?;
        let object = handle.find_object(theirs(target)?, None);
        let tree = object.and_then(|object| object.peel_to_tree());
        Ok(tree.map(|tree| ours(tree.id())).ok())
    }
}
