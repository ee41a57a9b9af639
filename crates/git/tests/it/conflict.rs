//! A conflict handed back to its author.

use std::path::PathBuf;

use orchestrate_git::{GitError, Merge};

use crate::support::{Fixture, git_in, write_files};

const ANCHOR: &str = "refs/orchestrate/merge/r-test01/T1/1";

#[test]
fn a_conflict_is_written_and_repaired() {
    let fixture = Fixture::new(&[("both", "1\n"), ("gone", "1\n"), ("mine", "1\n"), ("file-or-folder", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("both", "agent\n"), ("mine", "agent\n")]);
    let candidate = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    std::fs::remove_file(fixture.project().join("gone")).unwrap();
    std::fs::remove_file(fixture.project().join("file-or-folder")).unwrap();
    let others = [("both", "other\n"), ("new/deep", "x\n"), ("file-or-folder/in", "2\n")];
    let target = fixture.commit_files(&others, "target");

    for _ in 0..2 {
        let written = repo.write_conflict(&worktree, &target, &candidate, ANCHOR).unwrap();
        let paths: Vec<PathBuf> = written.files.iter().map(|file| file.path.clone()).collect();
        assert_eq!(paths, [PathBuf::from("both")]);
        assert_eq!(repo.current_tree(&worktree).unwrap(), written.tree);
        assert_eq!(repo.worktree_head(&worktree).unwrap(), candidate);
    }
    assert!(!worktree.path().join("gone").exists());
    assert_eq!(std::fs::read_to_string(worktree.path().join("mine")).unwrap(), "agent\n");
    let tree = repo.current_tree(&worktree).unwrap();
    let files = ["both", "mine", "absent"].map(PathBuf::from);
    assert_eq!(repo.remaining_markers(&tree, &files).unwrap(), [PathBuf::from("both")]);

    write_files(worktree.path(), &[("both", "agent and other\n")]);
    let repaired = fixture.commit(&repo, &worktree, &[&target, &candidate]);
    let tree = repo.tree_of(&repaired).unwrap();
    assert_eq!(repo.remaining_markers(&tree, &files).unwrap(), Vec::<PathBuf>::new());
    assert_eq!(repo.merge(&target, &repaired, ANCHOR).unwrap(), Merge::Clean { tree });
    assert_eq!(git_in(worktree.path(), &["status", "--porcelain"]), "");
}

#[test]
fn what_was_not_committed_is_not_overwritten() {
    let fixture = Fixture::new(&[("both", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("both", "agent\n")]);
    let candidate = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    let target = fixture.commit_files(&[("both", "other\n")], "target");
    write_files(worktree.path(), &[("both", "later\n")]);
    let error = repo.write_conflict(&worktree, &target, &candidate, ANCHOR).unwrap_err();
    assert!(matches!(error, GitError::Unstorable { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(worktree.path().join("both")).unwrap(), "later\n");
}
