//! A conflict handed back to its author.

use std::path::PathBuf;

use orchestrate_git::{ConflictFile, GitError, Merge};

use crate::support::{Fixture, git_in, read, write_files};

const ANCHOR: &str = "refs/orchestrate/keep/r-test01/T1/conflict";

#[test]
fn a_conflict_is_written_and_repaired() {
    let fixture = Fixture::new(&[
        ("both", "1\n"),
        ("gone", "1\n"),
        ("mine", "1\n"),
        ("file-or-folder", "1\n"),
    ]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("both", "agent\n"), ("mine", "agent\n")]);
    let candidate = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    std::fs::remove_file(fixture.project().join("gone")).unwrap();
    std::fs::remove_file(fixture.project().join("file-or-folder")).unwrap();
    let others = [
        ("both", "other\n"),
        ("new/deep", "x\n"),
        ("file-or-folder/in", "2\n"),
    ];
    let target = fixture.commit_files(&others, "target");

    for _ in 0..2 {
        let written = repo
            .merging()
            .write_conflict(&worktree, &target, &candidate, ANCHOR)
            .unwrap();
        let paths: Vec<PathBuf> = written.files.iter().map(|file| file.path.clone()).collect();
        assert_eq!(paths, [PathBuf::from("both")]);
        assert_eq!(repo.store().current_tree(&worktree).unwrap(), written.tree);
        assert_eq!(repo.worktrees().head(&worktree).unwrap(), candidate);
    }
    assert!(!worktree.path().join("gone").exists());
    assert_eq!(read(worktree.path().join("mine")), "agent\n");
    let tree = repo.store().current_tree(&worktree).unwrap();
    let files = ["both", "mine", "absent"].map(PathBuf::from);
    let left = |tree| {
        repo.merging()
            .remaining_markers(tree, &files, [&target, &candidate])
            .unwrap()
    };
    assert_eq!(left(&tree), [(PathBuf::from("both"), 1)]);

    write_files(worktree.path(), &[("both", "agent and other\n")]);
    let repaired = fixture.commit(&repo, &worktree, &[&target, &candidate]);
    let tree = repo.tree_of(&repaired).unwrap();
    assert_eq!(left(&tree), []);
    assert_eq!(
        repo.merging().merge(&target, &repaired).unwrap(),
        Merge::Clean { tree }
    );
    assert_eq!(git_in(worktree.path(), &["status", "--porcelain"]), "");
}

#[test]
fn what_has_no_markers_is_untouched_until_it_is_written_or_deleted() {
    let both = [
        ("binary", "1\0"),
        ("kept", "1\n"),
        ("gone", "1\n"),
        ("place", "1\n"),
        ("text", "1\n"),
    ];
    let fixture = Fixture::new(&both);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let mine = [
        ("binary", "agent\0"),
        ("kept", "agent\n"),
        ("place", "agent\n"),
        ("text", "agent\n"),
    ];
    write_files(worktree.path(), &mine);
    std::fs::remove_file(worktree.path().join("gone")).unwrap();
    let candidate = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    for gone in ["kept", "place"] {
        std::fs::remove_file(fixture.project().join(gone)).unwrap();
    }
    let theirs = [
        ("binary", "other\0"),
        ("gone", "other\n"),
        ("place/in", "2\n"),
        ("text", "other\n"),
    ];
    let target = fixture.commit_files(&theirs, "target");
    let untouched = |files: &[ConflictFile]| -> Vec<String> {
        let untouched = repo.merging().untouched(&worktree, files).unwrap();
        untouched
            .iter()
            .map(|file| format!("{} ({})", file.path.display(), file.kind))
            .collect()
    };

    let mut files = Vec::new();
    for _ in 0..2 {
        files = repo
            .merging()
            .write_conflict(&worktree, &target, &candidate, ANCHOR)
            .unwrap()
            .files;
        let left = [
            "binary (binary)",
            "gone (modify/delete)",
            "kept (modify/delete)",
            "place~yours (file/directory)",
        ];
        assert_eq!(untouched(&files), left);
    }
    // The control: each that is written, deleted or touched is decided, and only then.
    write_files(
        worktree.path(),
        &[("binary", "other\0"), ("gone", "mended\n")],
    );
    std::fs::remove_file(worktree.path().join("place~yours")).unwrap();
    fixture.commit(&repo, &worktree, &[&target, &candidate]);
    assert_eq!(untouched(&files), ["kept (modify/delete)"]);
    let kept = std::fs::File::options()
        .append(true)
        .open(worktree.path().join("kept"))
        .unwrap();
    kept.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(untouched(&files), Vec::<String>::new());
}

#[test]
fn a_file_that_is_ignored_and_tracked_all_the_same_comes_with_the_merge() {
    let fixture = Fixture::new(&[("both", "1\n"), (".gitignore", "*.log\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("both", "agent\n")]);
    let candidate = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    write_files(&fixture.project(), &[("forced.log", "tracked\n")]);
    fixture.git(&["add", "-f", "forced.log"]);
    let target = fixture.commit_files(&[("both", "other\n")], "target");
    let written = repo
        .merging()
        .write_conflict(&worktree, &target, &candidate, ANCHOR)
        .unwrap();
    assert_eq!(repo.store().current_tree(&worktree).unwrap(), written.tree);
}

#[test]
fn a_merge_of_a_person_is_finished_once_no_marker_of_it_is_left() {
    let fixture = Fixture::new(&[("both", "1\n"), ("own", "<<<<<<< shown\n1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(
        worktree.path(),
        &[("both", "agent\n"), ("own", "<<<<<<< shown\nagent\n")],
    );
    fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    let target = fixture.commit_files(
        &[("both", "other\n"), ("own", "<<<<<<< shown\nother\n")],
        "target",
    );
    let attempt = format!("alias.attempt=!git merge -q {target} || true");
    git_in(worktree.path(), &["-c", &attempt, "attempt"]);
    let left = || match repo.worktrees().require_finished(&worktree) {
        Err(GitError::UnfinishedMerge { files, .. }) => files,
        finished => finished.map(|()| Vec::new()).unwrap(),
    };
    let marked = ["conflict markers in both:1", "conflict markers in own:2"];
    assert_eq!(left(), marked);
    git_in(worktree.path(), &["add", "-A"]);
    assert_eq!(left(), marked);
    write_files(
        worktree.path(),
        &[("own", "<<<<<<< shown\nboth\n"), ("both", "both\n")],
    );
    assert_eq!(left(), Vec::<String>::new());
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
    let error = repo
        .merging()
        .write_conflict(&worktree, &target, &candidate, ANCHOR)
        .unwrap_err();
    assert!(matches!(error, GitError::Unstorable { .. }), "{error}");
    assert_eq!(read(worktree.path().join("both")), "later\n");
}
