//! Snapshots: the contents of an agent's worktree, as a tree.
//!
//! A snapshot runs no program (see [`crate::store::stage`]). It fails if it looks like an accident:
//! if the tree is empty, or has lost more than half of its files, and the deletions were not
//! recorded. The worktree's index becomes the snapshot's, so its blobs are reachable until a commit
//! holds them.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use orchestrate_core::{Oid, WithheldFile};

use crate::error::GitError;
use crate::files::openat::{join, path_of};
use crate::repo::repository::{Repo, ours, tree_of};
use crate::repo::worktree::Worktree;
use crate::store::diff::{FileChange, plain_diff};
use crate::store::objects::Store;
use crate::store::stage::{Staged, stage};
use crate::store::walk::{Found, ScratchPath, TakenFiles};

/// Which files may be missing from a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotRules {
    /// Files and folders whose deletion was recorded, relative to the worktree.
    pub recorded_deletions: Vec<PathBuf>,
    /// How much else may be missing.
    pub unrecorded: Loss,
    /// New files that are taken although they look like scratch files or secrets.
    pub taken: TakenFiles,
}

/// How much of the worktree's HEAD may be missing without a recorded deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// No more than half of its files.
    #[default]
    Half,
    /// Any number of files, as long as one is left.
    Most,
    /// All of them, as for a `run:` task, whose command is the record.
    Everything,
}

/// The contents of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The tree that was stored.
    pub tree: Oid,
    /// The number of files in it.
    pub files: usize,
    /// Files of HEAD that are missing and were not moved, relative to the worktree.
    pub deleted: Vec<PathBuf>,
    /// Folders with a `.git` of their own; their files are in the tree as plain files.
    pub nested_repositories: Vec<PathBuf>,
    /// Pipes, sockets and devices, which are not in the tree.
    pub special_files: Vec<PathBuf>,
    /// Caches and build outputs, which are not in the tree, each with what it is; nothing below
    /// such a folder.
    pub scratch: Vec<(PathBuf, &'static str)>,
    /// New files that look like secrets, which are not in the tree.
    pub withheld: Vec<WithheldFile>,
    /// Whether the tree differs from HEAD's.
    pub changed: bool,
}

impl Store<'_> {
    /// Stores the contents of a worktree as a tree, without running a program. No ref moves, so the
    /// caller must commit and keep the tree.
    ///
    /// Call it while no process of the worktree's agent is alive.
    ///
    /// # Errors
    /// [`GitError::EmptySnapshot`] and [`GitError::LostFiles`] for accidents;
    /// [`GitError::FilterAsked`] and [`GitError::Unstorable`] for files that we cannot store as git
    /// would; [`GitError::Tampered`].
    pub fn snapshot(
        &self,
        worktree: &Worktree,
        rules: &SnapshotRules,
    ) -> Result<Snapshot, GitError> {
        let mut staged = stage(self.repo, worktree, &rules.taken)?;
        let snapshot = self.judge(worktree, &mut staged, rules)?;
        if staged.changed {
            staged
                .index
                .write()
                .map_err(GitError::library("write the worktree's index"))?;
        }
        Ok(snapshot)
    }

    /// Stores the current contents of a worktree as a tree and returns it. Neither its index nor a
    /// ref changes.
    ///
    /// # Errors
    /// Like [`Store::snapshot`], except that any loss of files is allowed.
    pub fn current_tree(&self, worktree: &Worktree) -> Result<Oid, GitError> {
        self.current_files(worktree).map(|(tree, _)| tree)
    }

    /// Stores the current contents of a worktree like [`Store::current_tree`], and returns what
    /// else is in it as well.
    pub(crate) fn current_files(&self, worktree: &Worktree) -> Result<(Oid, Found), GitError> {
        let mut staged = stage(self.repo, worktree, &TakenFiles::default())?;
        let tree = write_tree(self.repo, worktree, &mut staged)?;
        Ok((tree, staged.found))
    }

    /// Lists the files of a worktree that differ from its HEAD.
    ///
    /// # Errors
    /// Like [`Store::current_tree`].
    pub fn status(&self, worktree: &Worktree) -> Result<Vec<FileChange>, GitError> {
        let tree = self.current_tree(worktree)?;
        self.diff(&self.repo.worktrees().head(worktree)?, &tree)
    }

    /// Reports whether `to` has lost more than half of the files of `from` (both are trees or
    /// commits), so that a snapshot of it would be refused by default. Moved files are not lost.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn loses_most(&self, from: &Oid, to: &Oid) -> Result<bool, GitError> {
        Ok(is_most(
            self.deletions(from, to)?.len(),
            count_files(&*self.repo.handle()?, from)?,
        ))
    }

    fn judge(
        &self,
        worktree: &Worktree,
        staged: &mut Staged<'_>,
        rules: &SnapshotRules,
    ) -> Result<Snapshot, GitError> {
        let tree = write_tree(self.repo, worktree, staged)?;
        let before = self.repo.worktrees().head(worktree)?;
        let deleted = self.deletions(&before, &tree)?;
        let total = count_files(&*self.repo.handle()?, &before)?;
        let files = staged.index.len();
        let lost = deleted.iter().filter(|gone| !rules.records(gone)).count();
        let path = || worktree.path().to_owned();
        if files == 0 && lost > 0 && rules.unrecorded < Loss::Everything {
            return Err(GitError::EmptySnapshot { path: path(), lost });
        }
        if is_most(lost, total) && rules.unrecorded < Loss::Most {
            return Err(GitError::LostFiles {
                path: path(),
                lost,
                total,
            });
        }
        Ok(Snapshot {
            changed: tree != self.repo.tree_of(&before)?,
            tree,
            files,
            deleted,
            nested_repositories: std::mem::take(&mut staged.found.nested),
            special_files: std::mem::take(&mut staged.found.special),
            scratch: std::mem::take(&mut staged.found.scratch)
                .into_iter()
                .map(named)
                .collect(),
            withheld: std::mem::take(&mut staged.found.withheld),
        })
    }

    /// Lists the files of one tree that are in another neither at the same path nor, with the same
    /// content, at a new one.
    fn deletions(&self, from: &Oid, to: &Oid) -> Result<Vec<PathBuf>, GitError> {
        let handle = self.repo.handle()?;
        let diff = plain_diff(&handle, from, to, None)?;
        let added: BTreeSet<git2::Oid> = diff
            .deltas()
            .filter(|delta| delta.status() == git2::Delta::Added)
            .map(|delta| delta.new_file().id())
            .collect();
        let gone = diff
            .deltas()
            .filter(|delta| delta.status() == git2::Delta::Deleted);
        let lost = gone.filter(|delta| !added.contains(&delta.old_file().id()));
        Ok(lost
            .filter_map(|delta| delta.old_file().path_bytes().map(path_of))
            .collect())
    }
}

impl SnapshotRules {
    fn records(&self, gone: &std::path::Path) -> bool {
        self.recorded_deletions
            .iter()
            .any(|recorded| recorded.as_os_str().as_bytes() == b"." || gone.starts_with(recorded))
    }
}

/// Returns a scratch path as people read it: the name of a folder ends with a slash.
fn named(
    ScratchPath {
        path,
        is_folder,
        what,
    }: ScratchPath,
) -> (PathBuf, &'static str) {
    (
        path_of(&if is_folder { join(&path, b"") } else { path }),
        what,
    )
}

fn is_most(lost: usize, total: usize) -> bool {
    lost * 2 > total
}

fn write_tree(repo: &Repo, worktree: &Worktree, staged: &mut Staged<'_>) -> Result<Oid, GitError> {
    let written = staged.store.write_tree(&mut staged.index).map(ours);
    match &written {
        _ if !staged.unsynced => {}
        // An agent examines the same new files again and again, and a sync waits for all writes to
        // that disk.
        Ok(tree) if staged.synced.as_ref() == Some(tree) => {}
        Ok(tree) => repo.sync_tree(worktree.admin_dir(), tree)?,
        Err(_) => repo.sync_objects()?,
    }
    written
}

fn count_files(repository: &git2::Repository, treeish: &Oid) -> Result<usize, GitError> {
    let mut files = 0;
    let tree = tree_of(repository, treeish)?;
    tree.walk(git2::TreeWalkMode::PreOrder, |_, entry| {
        files += usize::from(entry.kind() == Some(git2::ObjectType::Blob));
        git2::TreeWalkResult::Ok
    })
    .map_err(GitError::library(format!("count the files of {treeish}")))?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worktree::worktrees::WorktreeSpec;

    #[test]
    fn many_new_files_are_synced_once_as_long_as_they_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let made = git2::Repository::init(folder.path().join("project")).unwrap();
        let author =
            git2::Signature::new("Test", "test@example.invalid", &git2::Time::new(0, 0)).unwrap();
        let empty = made
            .find_tree(made.treebuilder(None).unwrap().write().unwrap())
            .unwrap();
        let base = ours(
            made.commit(Some("HEAD"), &author, &author, "x", &empty, &[])
                .unwrap(),
        );
        let path = folder.path().join("T1");
        let spec = WorktreeSpec {
            path: path.clone(),
            branch: None,
            base,
            lock_reason: String::new(),
            times: None,
        };
        let repo = Repo::open(&folder.path().join("project"), folder.path()).unwrap();
        let worktree = repo.worktrees().add(&spec).unwrap();
        for at in 0..100 {
            std::fs::write(path.join(at.to_string()), at.to_string()).unwrap();
        }
        let durable = |repo: &Repo| {
            let mut staged = stage(repo, &worktree, &TakenFiles::default()).unwrap();
            assert!(staged.unsynced);
            let synced = staged.synced.clone();
            (synced, write_tree(repo, &worktree, &mut staged).unwrap())
        };
        let (before, tree) = durable(&repo);
        assert_eq!(
            (before, durable(&repo)),
            (None, (Some(tree.clone()), tree.clone()))
        );
        // It is not known what another process left unsynced.
        assert_eq!(
            durable(&Repo::open(&folder.path().join("project"), folder.path()).unwrap()).0,
            None
        );
        std::fs::write(path.join("more"), "1").unwrap();
        let (_, more) = durable(&repo);
        assert_ne!(more, tree);
        let (fan, name) = more.as_str().split_at(2);
        std::fs::remove_file(made.commondir().join("objects").join(fan).join(name)).unwrap();
        assert_eq!(durable(&repo), (None, more));
    }
}
