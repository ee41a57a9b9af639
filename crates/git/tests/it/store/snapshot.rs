//! Snapshots: a worktree's files, exactly as git would store them.

use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_git::{ChangeStatus, FileChange, GitError, Loss, Snapshot, SnapshotRules};
use proptest::prelude::*;

use crate::support::{Fixture, git_in, make_pipe, write_files};

fn rules() -> SnapshotRules {
    SnapshotRules::default()
}

#[test]
fn every_kind_of_change_is_in_the_tree() {
    let fixture = Fixture::new(&[
        ("kept", "1\n"),
        ("changed", "1\n"),
        ("deleted", "gone\n"),
        ("to-link", "1\n"),
        ("to-folder", "was a file\n"),
        ("folder/a", "was in a folder\n"),
        ("script", "1\n"),
        (".gitignore", "ignored\n*.log\n!kept.log\n"),
    ]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let path = worktree.path();
    write_files(
        path,
        &[
            ("changed", "2\n"),
            ("new/deep/file", "3\n"),
            ("ignored", "x"),
            ("a.log", "x"),
            ("kept.log", "4"),
        ],
    );
    std::fs::remove_file(path.join("deleted")).unwrap();
    std::fs::remove_file(path.join("to-link")).unwrap();
    std::os::unix::fs::symlink("kept", path.join("to-link")).unwrap();
    std::fs::remove_file(path.join("to-folder")).unwrap();
    write_files(path, &[("to-folder/inside", "5\n")]);
    std::fs::remove_dir_all(path.join("folder")).unwrap();
    write_files(path, &[("folder", "6\n")]);
    std::fs::set_permissions(path.join("script"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let odd = PathBuf::from(std::ffi::OsString::from_vec(b"odd \xff\nname".to_vec()));
    std::fs::write(path.join(&odd), "7\n").unwrap();
    make_pipe(&path.join("pipe"));

    let snapshot = repo.store().snapshot(&worktree, &rules()).unwrap();
    let file = |content: &str| ("100644".to_owned(), content.to_owned());
    let expected: BTreeMap<Vec<u8>, (String, String)> = [
        (".gitignore", file("ignored\n*.log\n!kept.log\n")),
        ("changed", file("2\n")),
        ("folder", file("6\n")),
        ("kept", file("1\n")),
        ("kept.log", file("4")),
        ("new/deep/file", file("3\n")),
        ("script", ("100755".to_owned(), "1\n".to_owned())),
        ("to-folder/inside", file("5\n")),
        ("to-link", ("120000".to_owned(), "kept".to_owned())),
    ]
    .into_iter()
    .map(|(name, value)| (name.as_bytes().to_vec(), value))
    .chain([(odd.as_os_str().as_bytes().to_vec(), file("7\n"))])
    .collect();
    assert_eq!(fixture.files_of(&snapshot.tree), expected);
    assert_eq!(
        snapshot,
        Snapshot {
            tree: snapshot.tree.clone(),
            files: 10,
            deleted: ["deleted", "folder/a", "to-folder"]
                .map(PathBuf::from)
                .to_vec(),
            nested_repositories: vec![],
            special_files: vec![PathBuf::from("pipe")],
            scratch: vec![],
            withheld: vec![],
            changed: true,
        }
    );
    assert_eq!(
        repo.store().snapshot(&worktree, &rules()).unwrap().tree,
        snapshot.tree
    );
    assert_eq!(git_in(path, &["write-tree"]), snapshot.tree.as_str());
    assert_eq!(git_in(path, &["diff-files", "--name-only"]), "");
}

#[test]
fn many_new_files_are_stored_as_git_does() {
    let fixture = Fixture::new(&[("a", "1\n"), (".gitattributes", "*.crlf eol=crlf\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    for number in 0..200 {
        let name = format!(
            "made/{}/{number}.{}",
            number % 7,
            if number % 3 == 0 { "crlf" } else { "txt" }
        );
        write_files(worktree.path(), &[(&name, &format!("{number}\r\n"))]);
    }
    write_files(worktree.path(), &[("a", "2\n")]);
    let snapshot = repo.store().snapshot(&worktree, &rules()).unwrap();
    assert_eq!(snapshot.files, 202);
    assert_eq!(
        git_in(worktree.path(), &["write-tree"]),
        snapshot.tree.as_str()
    );
    assert_eq!(
        git_in(worktree.path(), &["status", "--porcelain"])
            .lines()
            .filter(|line| &line[1..2] != " ")
            .count(),
        0
    );
    fixture.git(&["fsck", "--connectivity-only"]);
}

#[test]
fn status_lists_what_differs_from_head() {
    let fixture = Fixture::new(&[
        ("a", "1\n"),
        ("moved", "a long enough line to be found again\n"),
    ]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("a", "2\n3\n")]);
    std::fs::rename(worktree.path().join("moved"), worktree.path().join("there")).unwrap();
    let change = |path: &str, status, added, removed| FileChange {
        path: PathBuf::from(path),
        old_path: None,
        status,
        added,
        removed,
        mode_changed: false,
        binary: false,
    };
    let moved = FileChange {
        old_path: Some(PathBuf::from("moved")),
        ..change("there", ChangeStatus::Renamed, 0, 0)
    };
    assert_eq!(
        repo.store().status(&worktree).unwrap(),
        [change("a", ChangeStatus::Modified, 2, 1), moved]
    );
    let tree = repo.store().current_tree(&worktree).unwrap();
    let text = repo.store().diff_text(&fixture.tip("HEAD"), &tree).unwrap();
    assert!(
        text.contains("-1\n+2\n+3\n") && text.contains("rename to there"),
        "{text}"
    );
}

#[test]
fn lost_files_are_an_accident_unless_recorded() {
    let fixture = Fixture::new(&[("d/a", "1"), ("d/b", "2"), ("d/c", "3"), ("d/e", "4")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let gone = |name: &str| std::fs::remove_file(worktree.path().join(name)).unwrap();
    gone("d/a");
    gone("d/b");
    assert_eq!(repo.store().snapshot(&worktree, &rules()).unwrap().files, 2);
    gone("d/c");
    let error = repo.store().snapshot(&worktree, &rules()).unwrap_err();
    assert!(
        matches!(
            error,
            GitError::LostFiles {
                lost: 3,
                total: 4,
                ..
            }
        ),
        "{error}"
    );
    let recorded = SnapshotRules {
        recorded_deletions: vec![PathBuf::from("d/a")],
        ..rules()
    };
    assert_eq!(
        repo.store().snapshot(&worktree, &recorded).unwrap().files,
        1
    );
    let most = SnapshotRules {
        unrecorded: Loss::Most,
        ..rules()
    };
    assert_eq!(repo.store().snapshot(&worktree, &most).unwrap().files, 1);
    gone("d/e");
    for rules in [rules(), most] {
        let error = repo.store().snapshot(&worktree, &rules).unwrap_err();
        assert!(
            matches!(error, GitError::EmptySnapshot { lost: 4, .. }),
            "{error}"
        );
    }
    let any = SnapshotRules {
        unrecorded: Loss::Everything,
        ..rules()
    };
    assert_eq!(repo.store().snapshot(&worktree, &any).unwrap().files, 0);
}

#[test]
fn moving_everything_loses_nothing() {
    let fixture = Fixture::new(&[("src/a", "1"), ("src/b", "2"), ("src/c", "3")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    std::fs::rename(worktree.path().join("src"), worktree.path().join("lib")).unwrap();
    let snapshot = repo.store().snapshot(&worktree, &rules()).unwrap();
    assert_eq!((snapshot.files, snapshot.deleted), (3, vec![]));
}

#[test]
fn an_index_that_was_emptied_does_not_empty_the_tree() {
    let fixture = Fixture::new(&[("a", "1"), ("b", "2")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    git_in(worktree.path(), &["rm", "-q", "--cached", "-r", "."]);
    assert!(!repo.store().snapshot(&worktree, &rules()).unwrap().changed);
}

#[test]
fn line_ends_are_stored_as_git_stores_them() {
    let attributes = "* text=auto\n*.crlf text eol=crlf\n*.bin -text\n*.id ident\n";
    let fixture = Fixture::new(&[(".gitattributes", attributes), ("mixed", "a\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(
        worktree.path(),
        &[
            ("auto", "a\r\nb\r\n"),
            ("x.crlf", "a\r\n"),
            ("x.bin", "a\r\n"),
            ("x.id", "$Id: 1234 $\n"),
            ("mixed", "b\r\n"),
        ],
    );
    let tree = repo.store().current_tree(&worktree).unwrap();
    git_in(worktree.path(), &["add", "-A"]);
    assert_eq!(git_in(worktree.path(), &["write-tree"]), tree.as_str());
    let stored = fixture.files_of(&tree);
    assert_eq!(stored[b"auto".as_slice()].1, "a\nb\n");
    assert_eq!(stored[b"x.bin".as_slice()].1, "a\r\n");
}

#[test]
fn line_ends_are_converted_if_the_user_has_git_do_so() {
    // The control: without the setting the same file is stored as it is.
    for (setting, stored) in [
        ("false", "a\r\nb\r\n"),
        ("true", "a\nb\n"),
        ("input", "a\nb\n"),
    ] {
        let fixture = Fixture::new(&[("kept", "1\n")]);
        fixture.git(&["config", "core.autocrlf", setting]);
        let repo = fixture.repo();
        repo.require_ready().unwrap();
        let worktree = fixture.worktree(&repo, "T1");
        write_files(worktree.path(), &[("new", "a\r\nb\r\n")]);
        let tree = repo.store().current_tree(&worktree).unwrap();
        git_in(worktree.path(), &["add", "-A"]);
        assert_eq!(
            git_in(worktree.path(), &["write-tree"]),
            tree.as_str(),
            "{setting}"
        );
        assert_eq!(
            fixture.files_of(&tree)[b"new".as_slice()].1,
            stored,
            "{setting}"
        );
    }
}

#[test]
fn files_that_need_a_program_are_refused_only_when_they_change() {
    let attributes = "*.secret filter=crypt\n*.u16 working-tree-encoding=UTF-16\n";
    let fixture = Fixture::new(&[(".gitattributes", attributes), ("a.secret", "1")]);
    let planted = fixture.planted();
    fixture.git(&["config", "filter.crypt.clean", planted.to_str().unwrap()]);
    fixture.git(&["config", "filter.crypt.smudge", planted.to_str().unwrap()]);
    fixture.git(&["config", "filter.crypt.required", "true"]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("plain", "1")]);
    assert_eq!(repo.store().snapshot(&worktree, &rules()).unwrap().files, 3);
    write_files(worktree.path(), &[("b.secret", "open")]);
    let error = repo.store().snapshot(&worktree, &rules()).unwrap_err();
    assert!(
        matches!(&error, GitError::FilterAsked { filter, .. } if filter == "crypt"),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(r"--get-regexp '^filter\.crypt\.'"),
        "{error}"
    );
    std::fs::remove_file(worktree.path().join("b.secret")).unwrap();
    write_files(worktree.path(), &[("c.u16", "x")]);
    assert!(matches!(
        repo.store().snapshot(&worktree, &rules()),
        Err(GitError::Unstorable { .. })
    ));
    assert!(!fixture.canary().exists());
}

#[test]
fn a_filter_that_nobody_configured_is_no_filter() {
    let fixture = Fixture::new(&[(".gitattributes", "*.x filter=nobody\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("a.x", "1")]);
    assert_eq!(repo.store().snapshot(&worktree, &rules()).unwrap().files, 2);
}

/// Names for which ignore rules often reach special cases.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "b", "ab", "a.txt", "b.c", "built", "src", "A", "x y", "#c", "!d", "[f]",
    ])
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn rule() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a",
        "b",
        "*",
        "**",
        "*.txt",
        "?",
        "built",
        "src",
        "[ab]",
        "a*",
        "\\#c",
        "\\!d",
        "x y",
        "[!a]",
        "A",
        "a**",
        "**b",
        "[[:alpha:]]",
        "*.?",
        "x y ",
        "b\r",
        "s*c",
        "\\a",
    ]);
    let parts = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    (any::<bool>(), any::<bool>(), any::<bool>(), parts).prop_map(|(not, rooted, folder, parts)| {
        let sign = |yes, text| if yes { text } else { "" };
        format!(
            "{}{}{parts}{}",
            sign(not, "!"),
            sign(rooted, "/"),
            sign(folder, "/")
        )
    })
}

fn rules_text() -> impl Strategy<Value = String> {
    prop::collection::vec(rule(), 0..5).prop_map(|rules| rules.join("\n"))
}

/// The number of repositories on which the property is tested; each starts a dozen processes.
const CASES: u32 = 32;

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    /// The tree is the same as the one that `git add -A` creates from the same files and rules.
    #[test]
    fn the_tree_is_the_one_that_git_makes(
        before in prop::collection::vec(path(), 1..6),
        after in prop::collection::vec(path(), 0..10),
        top in rules_text(),
        inner in rules_text(),
    ) {
        let fixture = Fixture::new(&[]);
        for path in &before {
            write_if_free(&fixture.project(), path, "before\n");
        }
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-q", "--allow-empty", "-m", "before"]);
        let repo = fixture.repo();
        let worktree = fixture.worktree(&repo, "T1");
        write_if_free(worktree.path(), ".gitignore", &top);
        write_if_free(worktree.path(), "src/.gitignore", &inner);
        for path in &after {
            write_if_free(worktree.path(), path, "after\n");
        }
        let tree = repo.store().current_tree(&worktree).unwrap();
        git_in(worktree.path(), &["add", "-A"]);
        let gits = Oid::new(git_in(worktree.path(), &["write-tree"]));
        prop_assert_eq!(fixture.files_of(&tree), fixture.files_of(&gits));
    }
}

/// Writes a file unless a file is in the place of its folder, or a folder in its place.
fn write_if_free(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
        std::fs::write(path, content).unwrap();
    }
}

#[test]
fn paths_that_git_refuses_are_named() {
    let names = [
        ".GIT/x",
        ".Git",
        ".git /x",
        "d/.git./x",
        "git~1/x",
        ".git::$INDEX_ALLOCATION/x",
        "a\\.GIT\\x",
    ];
    for (name, is_link) in names
        .map(|name| (name, false))
        .into_iter()
        .chain([(".gitmodules", true), ("gitmod~1", true)])
    {
        let fixture = Fixture::new(&[("a", "1")]);
        let repo = fixture.repo();
        let worktree = fixture.worktree(&repo, "T1");
        match is_link {
            true => std::os::unix::fs::symlink("a", worktree.path().join(name)).unwrap(),
            false => write_files(worktree.path(), &[(name, "x")]),
        }
        let error = repo.store().snapshot(&worktree, &rules()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(&format!("store {name}: git does not accept this path")),
            "{error}"
        );
    }
    let fixture = Fixture::new(&[("a", "1")]);
    let repo = fixture.repo();
    let names = [
        ".gitmodules",
        ".github/x",
        "git~2",
        "x.git/x",
        "a\\b",
        "x:y",
        ".gitx",
    ];
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &names.map(|name| (name, "x")));
    let tree = repo.store().snapshot(&worktree, &rules()).unwrap().tree;
    fixture.git(&["read-tree", "-m", "-u", "HEAD", tree.as_str()]);
    assert!(
        names
            .iter()
            .all(|name| fixture.project().join(name).exists())
    );
}
