//! A worktree for the tests of this folder.

use std::path::{Path, PathBuf};

use git2::Repository;
use tempfile::TempDir;

use crate::repo::repository::{Repo, ours};
use crate::repo::worktree::Worktree;
use crate::worktree::worktrees::WorktreeSpec;

/// A worktree `T1` of a repository whose only commit has these files.
pub(crate) struct Sample {
    pub(crate) folder: TempDir,
    pub(crate) repo: Repo,
    pub(crate) worktree: Worktree,
}

impl Sample {
    pub(crate) fn with(files: &[(&str, &str)]) -> Sample {
        let folder = tempfile::tempdir().unwrap();
        let made = Repository::init(folder.path().join("project")).unwrap();
        let author =
            git2::Signature::new("Test", "test@example.invalid", &git2::Time::new(0, 0)).unwrap();
        let mut tree = made.treebuilder(None).unwrap();
        for (name, text) in files {
            tree.insert(name, made.blob(text.as_bytes()).unwrap(), 0o100_644)
                .unwrap();
        }
        let tree = made.find_tree(tree.write().unwrap()).unwrap();
        let base = ours(
            made.commit(Some("HEAD"), &author, &author, "x", &tree, &[])
                .unwrap(),
        );
        let spec = WorktreeSpec {
            path: folder.path().join("T1"),
            branch: None,
            base,
            lock_reason: String::new(),
            times: None,
        };
        let repo = Repo::open(&folder.path().join("project"), folder.path()).unwrap();
        let worktree = repo.worktrees().add(&spec).unwrap();
        Sample {
            folder,
            repo,
            worktree,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        Path::join(self.folder.path(), "T1")
    }
}
