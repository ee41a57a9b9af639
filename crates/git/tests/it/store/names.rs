//! Which names can be stored: `orchestrate_core::text::git_path` compared with git itself, for
//! arbitrary paths.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Stdio;

use orchestrate_core::text::git_path::is_storable;
use orchestrate_git::{GitError, SnapshotRules};
use proptest::prelude::*;

use crate::support::{Fixture, command};

/// The number of paths in one comparison, all of which one git process judges.
const AT_ONCE: usize = 400;

/// Pieces for names that resemble git's own.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        ".git",
        ".GIT",
        "git~1",
        "GIT~2",
        ".gitmodules",
        ".GitModules",
        "gitmod~1",
        "gitmod~5",
        "gi7eba~1",
        "gi7eb~10",
        "GI7D29~1",
        "g",
        "it",
        ".",
        "..",
        " ",
        ":",
        "::$INDEX_ALLOCATION",
        "/",
        "/",
        "\\",
        "~1",
        "a",
        "modules",
        "\u{200c}",
        "\u{200d}",
        "\u{206f}",
        "\u{feff}",
        "\u{3164}",
        "\u{ffff}",
        "\r",
        "\t",
        "\u{1b}",
        "é",
        "e\u{301}",
        "ß",
    ])
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    let malformed = prop::option::weighted(0.1, prop::sample::select(vec![0xff_u8, 0xc3, 0x80]));
    (prop::collection::vec(piece(), 1..6), malformed).prop_map(|(pieces, malformed)| {
        let mut path = pieces.concat().into_bytes();
        path.extend(malformed);
        path
    })
}

/// Asks git which of these paths it accepts. Each is put into a folder of its own, so that none
/// obstructs another.
fn taken_by_git(fixture: &Fixture, paths: &[Vec<u8>], mode: &str) -> BTreeSet<usize> {
    let blob = fixture.git(&["rev-parse", "HEAD:a"]);
    let mut input = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        input.extend(format!("{mode} {blob}\t{at}/").into_bytes());
        input.extend(path);
        input.push(0);
    }
    let index = fixture.path().join("index");
    std::fs::remove_file(&index).ok();
    let run = |args: &[&str], input: &[u8]| {
        let mut git = command(
            &fixture.project(),
            &["-c", "core.protectHFS=true", "-c", "core.protectNTFS=true"],
        );
        git.args(args).env("GIT_INDEX_FILE", &index);
        let mut child = git
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap().stdout
    };
    run(&["update-index", "-z", "--index-info"], &input);
    let listed = run(&["ls-files", "-z"], b"");
    let number = |path: &[u8]| {
        String::from_utf8_lossy(path.split(|byte| *byte == b'/').next()?)
            .parse()
            .ok()
    };
    listed.split(|byte| *byte == 0).filter_map(number).collect()
}

/// Git looks for an alias behind every backslash except one that begins a path component; we look
/// behind that one too.
fn begins_with_backslash(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/')
        .any(|part| part.first() == Some(&b'\\'))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_name_is_stored_exactly_if_git_stores_it(paths in prop::collection::vec(path(), AT_ONCE)) {
        let fixture = Fixture::new(&[("a", "1")]);
        for (mode, is_link) in [("100644", false), ("120000", true)] {
            let taken = taken_by_git(&fixture, &paths, mode);
            prop_assert!(!taken.is_empty() && taken.len() < AT_ONCE, "git took {} of them", taken.len());
            for (at, path) in paths.iter().enumerate() {
                let shown = String::from_utf8_lossy(path);
                let ours = is_storable(path, is_link);
                let by_git = taken.contains(&at);
                prop_assert!(ours == by_git || by_git && begins_with_backslash(path), "{shown:?}: git {by_git}, we {ours}");
            }
        }
    }
}

#[test]
fn what_git_takes_is_stored_as_it_is() {
    let names = [
        "a\rb",
        "new\nline",
        "tab\t",
        "esc\u{1b}[2J",
        "README",
        "readme",
        "caf\u{e9}",
        "cafe\u{301}",
        "f\u{3164}",
        "x\u{202e}y",
        ".gi\u{200b}t",
        "git~2",
        "CON",
        "x:y",
    ];
    let fixture = Fixture::new(&[("a", "1")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    for name in names {
        std::fs::write(worktree.path().join(name), name).unwrap();
    }
    let tree = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap()
        .tree;
    let stored = fixture.files_of(&tree);
    assert_eq!(stored.len(), names.len() + 1);
    assert!(names.iter().all(|name| stored[name.as_bytes()].1 == *name));
}

#[test]
fn what_git_refuses_is_named_and_shown_escaped() {
    for name in [".g\u{200c}it", "\u{202e}.git", "git~1\u{20}.", "x\\.git:a"] {
        let fixture = Fixture::new(&[("a", "1")]);
        let repo = fixture.repo();
        let worktree = fixture.worktree(&repo, "T1");
        let folder = worktree
            .path()
            .join(std::ffi::OsStr::from_bytes(name.as_bytes()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(Path::new("config")), "x").unwrap();
        let error = repo
            .store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap_err();
        assert!(matches!(&error, GitError::Unstorable { .. }), "{error}");
        let said = error.to_string();
        assert!(!said.contains(['\u{200c}', '\u{202e}']), "{said}");
    }
}
