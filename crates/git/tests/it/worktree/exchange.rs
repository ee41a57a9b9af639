//! Exchanging a worktree's files, and trees that are put together from others.

use std::path::PathBuf;

use orchestrate_git::{GitError, Loss, SnapshotRules};

use crate::support::{Fixture, read, write_files};

fn rules() -> SnapshotRules {
    SnapshotRules {
        unrecorded: Loss::Everything,
        ..SnapshotRules::default()
    }
}

#[test]
fn paths_of_one_tree_are_put_into_another() {
    let fixture = Fixture::new(&[("a", "1"), ("b/c", "1"), ("b/d", "1"), ("file", "1")]);
    let repo = fixture.repo();
    let one = fixture.tip("HEAD");
    fixture.git(&["rm", "-q", "-r", "file", "b/d"]);
    let two = fixture.commit_files(
        &[("a", "2"), ("b/c", "2"), ("b/e", "2"), ("file/inside", "2")],
        "second",
    );
    let names = |tree| {
        let files = fixture.files_of(&tree).into_iter();
        files
            .map(|(path, (_, text))| format!("{} {text}", String::from_utf8(path).unwrap()))
            .collect::<Vec<_>>()
    };
    let table: [(&[&str], &[&str]); 5] = [
        (&[], &["a 1", "b/c 1", "b/d 1", "file 1"]),
        (&["a"], &["a 2", "b/c 1", "b/d 1", "file 1"]),
        (&["b"], &["a 1", "b/c 2", "b/e 2", "file 1"]),
        (&["file", "b/d"], &["a 1", "b/c 1", "file/inside 2"]),
        (&[""], &["a 2", "b/c 2", "b/e 2", "file/inside 2"]),
    ];
    for (paths, expected) in table {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        assert_eq!(
            names(repo.store().overlay(&one, &two, &paths).unwrap()),
            expected,
            "{paths:?}"
        );
    }
    let back = repo
        .store()
        .overlay(&two, &one, &[PathBuf::from("file")])
        .unwrap();
    assert_eq!(names(back), ["a 2", "b/c 2", "b/e 2", "file 1"]);
}

#[test]
fn files_are_exchanged_and_ignored_ones_stay() {
    let fixture = Fixture::new(&[("a", "1\n"), ("b", "1\n"), (".gitignore", "*.log\nout/\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let path = worktree.path();
    let base = repo.store().snapshot(&worktree, &rules()).unwrap().tree;
    write_files(
        path,
        &[
            ("a", "2\n"),
            ("new/file", "2\n"),
            ("x.log", "log"),
            ("out/made", "made"),
        ],
    );
    std::fs::remove_file(path.join("b")).unwrap();
    let changed = repo.store().snapshot(&worktree, &rules()).unwrap().tree;
    repo.worktrees().exchange(&worktree, &base).unwrap();
    assert_eq!(repo.store().current_tree(&worktree).unwrap(), base);
    let text_of = |name: &str| std::fs::read_to_string(path.join(name)).ok();
    let kept = ["x.log", "out/made", "new/file", "b"].map(text_of);
    assert_eq!(
        kept,
        [
            Some("log".to_owned()),
            Some("made".to_owned()),
            None,
            Some("1\n".to_owned())
        ]
    );
    repo.worktrees().exchange(&worktree, &changed).unwrap();
    assert_eq!(repo.store().current_tree(&worktree).unwrap(), changed);
    assert_eq!(worktree.branch(), Some("orchestrate/r-test01/T1"));
}

#[test]
fn a_file_that_is_stored_nowhere_is_not_replaced() {
    let fixture = Fixture::new(&[("a", "1\n"), (".gitignore", "*.log\nout/\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let table: [(&str, &str, &str); 4] = [
        ("x.log", "x.log", "x.log"),
        ("out/made", "out/made", "out/made"),
        ("y.log", "y.log/inside", "y.log"),
        ("dir/z.log", "dir", "dir/z.log"),
    ];
    for (ignored, tracked, expected) in table {
        fixture.git(&["checkout", "-q", "-f", "main"]);
        write_files(&fixture.project(), &[(tracked, "theirs\n")]);
        fixture.git(&["add", "-f", tracked]);
        fixture.git(&["commit", "-q", "-m", "theirs"]);
        let theirs = fixture.tip("HEAD^{tree}");
        fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
        write_files(worktree.path(), &[(ignored, "only copy\n")]);
        repo.store().snapshot(&worktree, &rules()).unwrap();
        let refused = repo.worktrees().exchange(&worktree, &theirs);
        let named = matches!(&refused, Err(GitError::Unstorable { path, .. }) if path == std::path::Path::new(expected));
        assert!(named, "{ignored}: {refused:?}");
        assert_eq!(read(worktree.path().join(ignored)), "only copy\n");
    }
}
