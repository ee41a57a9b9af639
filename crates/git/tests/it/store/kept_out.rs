//! What stays out of snapshots: caches, build outputs and secrets that are not tracked.

use std::path::PathBuf;

use orchestrate_core::{CommitRules, CommitSettings};
use orchestrate_git::{Snapshot, SnapshotRules, TakenFiles};

use crate::support::{Fixture, write_files};

const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n";

fn names(fixture: &Fixture, snapshot: &Snapshot) -> Vec<String> {
    let files = fixture.files_of(&snapshot.tree);
    files
        .into_keys()
        .map(|name| String::from_utf8(name).unwrap())
        .collect()
}

fn scratch(snapshot: &Snapshot) -> Vec<String> {
    snapshot
        .scratch
        .iter()
        .map(|(path, _)| path.display().to_string())
        .collect()
}

fn withheld(snapshot: &Snapshot) -> Vec<&str> {
    snapshot
        .withheld
        .iter()
        .map(|file| file.path.as_str())
        .collect()
}

#[test]
fn what_a_command_leaves_is_no_work_and_a_new_secret_stays_in_the_worktree() {
    let fixture = Fixture::new(&[
        ("package.json", "{}\n"),
        ("src/a.js", "1\n"),
        ("dist/kept.js", "1\n"),
    ]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(
        worktree.path(),
        &[
            ("src/b.js", "2\n"),
            ("dist/new.js", "2\n"),
            ("build/out.js", "x\n"),
            ("node_modules/a/index.js", "x\n"),
            ("run.log", "x\n"),
            ("src/__pycache__/a.pyc", "x\n"),
            (".env", "TOKEN=1\n"),
            (".env.example", "TOKEN=\n"),
            ("keys/id_ed25519", KEY),
            ("notes.txt", KEY),
        ],
    );
    let snapshot = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap();
    assert_eq!(
        names(&fixture, &snapshot),
        [
            ".env.example",
            "dist/kept.js",
            "dist/new.js",
            "package.json",
            "src/a.js",
            "src/b.js"
        ]
    );
    assert_eq!(
        scratch(&snapshot),
        ["build/", "node_modules/", "run.log", "src/__pycache__/"]
    );
    assert_eq!(
        withheld(&snapshot),
        [".env", "keys/id_ed25519", "notes.txt"]
    );
    assert_eq!(repo.store().current_tree(&worktree).unwrap(), snapshot.tree);
    let alone = repo.worktrees().uncommitted(&worktree).unwrap();
    assert_eq!(
        alone,
        [".env", "keys/id_ed25519", "notes.txt"].map(PathBuf::from),
        "caches can be made again"
    );

    // Another attempt keeps them, and so does an exchange of the tracked files.
    let base = repo.worktrees().head(&worktree).unwrap();
    repo.worktrees().restart(&worktree, &base, &base).unwrap();
    assert!(worktree.path().join(".env").exists() && worktree.path().join("run.log").exists());
    assert!(!worktree.path().join("src/b.js").exists());
}

#[test]
fn a_tracked_file_is_never_kept_out_and_a_line_of_gitignore_takes_what_it_names() {
    let fixture = Fixture::new(&[
        (".gitignore", "!fixtures/*.log\n!out.log\n"),
        (".env", "A=1\n"),
        ("run.log", "1\n"),
        ("fixtures/a.log", "1\n"),
    ]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(
        worktree.path(),
        &[
            (".env", "A=2\n"),
            ("run.log", "2\n"),
            ("fixtures/b.log", "1\n"),
            ("x.log", "1\n"),
        ],
    );
    let snapshot = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap();
    assert_eq!(scratch(&snapshot), ["x.log"]);
    assert!(snapshot.withheld.is_empty());
    assert_eq!(
        names(&fixture, &snapshot),
        [
            ".env",
            ".gitignore",
            "fixtures/a.log",
            "fixtures/b.log",
            "run.log"
        ]
    );
    assert_eq!(
        fixture.files_of(&snapshot.tree)[b".env".as_slice()].1,
        "A=2\n"
    );
}

#[test]
fn settings_and_single_files_are_taken_nevertheless() {
    let fixture = Fixture::new(&[("package.json", "{}\n")]);
    let settings = CommitSettings {
        leave_out: vec!["*.tmp".to_owned()],
        allow: vec!["test/key.pem".to_owned()],
        allow_scratch: vec!["build/keep".to_owned()],
    };
    let repo = fixture.repo().committing_by(CommitRules::new(&settings));
    let worktree = fixture.worktree(&repo, "T1");
    write_files(
        worktree.path(),
        &[
            ("a.tmp", "x\n"),
            ("test/key.pem", KEY),
            ("build/keep/a.js", "1\n"),
            ("build/other.js", "1\n"),
            ("dist/on-purpose.js", "1\n"),
            ("dist/made.js", "1\n"),
            (".env", "A=1\n"),
            ("b.pem", KEY),
        ],
    );
    let set = |names: &[&str]| names.iter().map(PathBuf::from).collect();
    let taken = TakenFiles {
        deliberate: set(&["dist/on-purpose.js", "b.pem"]),
        admitted: set(&[".env"]),
    };
    let snapshot = repo
        .store()
        .snapshot(
            &worktree,
            &SnapshotRules {
                taken,
                ..SnapshotRules::default()
            },
        )
        .unwrap();
    assert_eq!(
        names(&fixture, &snapshot),
        [
            ".env",
            "build/keep/a.js",
            "dist/on-purpose.js",
            "package.json",
            "test/key.pem"
        ]
    );
    assert_eq!(scratch(&snapshot), ["a.tmp", "build/", "dist/"]);
    assert_eq!(
        withheld(&snapshot),
        ["b.pem"],
        "that it was written on purpose makes no secret public"
    );
    // From now on they are tracked.
    write_files(worktree.path(), &[(".env", "A=2\n")]);
    let next = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap();
    assert_eq!(fixture.files_of(&next.tree)[b".env".as_slice()].1, "A=2\n");
}
