//! Submodules: brought into worktrees as they are pinned, from the user's own repository, and never
//! changed there.

use std::path::{Path, PathBuf};

use orchestrate_git::{GitError, LeftEmpty, SnapshotRules, Warning, Worktree, WorktreeSpec};
use orchestrate_sandbox::{Confinement, Content, Mount, Mounted, View};

use crate::support::{Fixture, git_in, read, write_files};

/// A project with a submodule `libs/inner`, which has a submodule `deep` in turn.
struct Nested {
    fixture: Fixture,
    inner: Fixture,
    _deep: Fixture,
}

const ALLOWED: &str = "protocol.file.allow=always";

fn add_submodule(to: &Fixture, of: &Fixture, path: &str) {
    to.git(&[
        "-c",
        ALLOWED,
        "submodule",
        "add",
        "-q",
        of.project().to_str().unwrap(),
        path,
    ]);
    to.git(&["commit", "-q", "-m", "add a submodule"]);
}

fn nested() -> Nested {
    let deep = Fixture::new(&[("lowest", "deep\n")]);
    let inner = Fixture::new(&[
        ("lib.c", "one\n"),
        (".gitignore", "*.o\n"),
        (".gitattributes", "*.bat eol=crlf\n"),
    ]);
    inner.commit_files(&[("run.bat", "line\n")], "script");
    add_submodule(&inner, &deep, "deep");
    let fixture = Fixture::new(&[("a", "1\n")]);
    add_submodule(&fixture, &inner, "libs/inner");
    fixture.git(&[
        "-c",
        ALLOWED,
        "submodule",
        "update",
        "-q",
        "--init",
        "--recursive",
    ]);
    Nested {
        fixture,
        inner,
        _deep: deep,
    }
}

fn text(worktree: &Worktree, path: &str) -> String {
    read(worktree.path().join(path))
}

fn unstorable(fixture: &Fixture, worktree: &Worktree) -> (String, String) {
    match fixture
        .repo()
        .store()
        .snapshot(worktree, &SnapshotRules::default())
    {
        Err(GitError::Unstorable { path, reason }) => (path.display().to_string(), reason),
        other => panic!("expected a refusal: {other:?}"),
    }
}

#[test]
fn submodules_are_brought_as_pinned_and_commits_keep_their_pins() {
    let Nested { fixture, inner, .. } = nested();
    // The user's own checkout of it has moved on, and has changes: agents get what is pinned.
    inner.commit_files(&[("lib.c", "two\n")], "second");
    git_in(
        &fixture.project().join("libs/inner"),
        &["-c", ALLOWED, "pull", "-q", "--no-recurse-submodules"],
    );
    write_files(&fixture.project(), &[("libs/inner/lib.c", "three\n")]);
    let repo = fixture.repo();
    repo.require_ready().unwrap();
    let before = fixture.users_state();
    let worktree = fixture.worktree(&repo, "T1");
    assert_eq!(text(&worktree, "libs/inner/lib.c"), "one\n");
    assert_eq!(text(&worktree, "libs/inner/run.bat"), "line\r\n");
    assert_eq!(text(&worktree, "libs/inner/deep/lowest"), "deep\n");
    assert!(!worktree.path().join("libs/inner/.git").exists());
    assert_eq!(git_in(worktree.path(), &["status", "--porcelain"]), "");
    write_files(
        worktree.path(),
        &[
            ("a", "2\n"),
            ("libs/other", "new\n"),
            ("libs/inner/built.o", "ignored there\n"),
        ],
    );
    let commit = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    let changed = fixture.git(&["diff-tree", "-r", "--name-only", "HEAD", commit.as_str()]);
    assert_eq!(changed, "a\nlibs/other");
    // The verifier's worktree gets them as well, and keeps them when it is reset.
    let verifier = repo
        .worktrees()
        .add(&WorktreeSpec {
            branch: None,
            ..fixture.spec("verifier")
        })
        .unwrap();
    write_files(
        verifier.path(),
        &[
            ("libs/inner/deep/lowest", "a check changed it\n"),
            ("libs/stray", "x\n"),
        ],
    );
    repo.worktrees()
        .checkout_detached(&verifier, &commit)
        .unwrap();
    assert_eq!(text(&verifier, "libs/inner/lib.c"), "one\n");
    assert_eq!(text(&verifier, "libs/inner/deep/lowest"), "deep\n");
    assert!(!verifier.path().join("libs/stray").exists());
    repo.worktrees()
        .remove(&worktree, &fixture.trash())
        .unwrap()
        .delete()
        .unwrap();
    assert_eq!(fixture.users_state(), before);
}

#[test]
fn a_commit_without_the_submodule_leaves_none_of_its_files() {
    let Nested { fixture, .. } = nested();
    let with = fixture.tip("HEAD");
    let without = fixture.tip("HEAD~1");
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    repo.worktrees()
        .exchange(&worktree, &repo.tree_of(&without).unwrap())
        .unwrap();
    assert!(!worktree.path().join("libs").exists());
    assert_eq!(
        repo.store().current_tree(&worktree).unwrap(),
        repo.tree_of(&without).unwrap()
    );
    repo.worktrees()
        .exchange(&worktree, &repo.tree_of(&with).unwrap())
        .unwrap();
    assert_eq!(text(&worktree, "libs/inner/deep/lowest"), "deep\n");
    assert_eq!(
        repo.store().current_tree(&worktree).unwrap(),
        repo.tree_of(&with).unwrap()
    );
}

#[test]
fn changes_in_a_submodule_are_refused_with_what_to_do() {
    type Change<'a> = &'a dyn Fn(&Path);
    let Nested { fixture, .. } = nested();
    let repo = fixture.repo();
    let table: [(&str, Change<'_>, &str); 7] = [
        (
            "T1",
            &|inner| write_files(inner, &[("lib.c", "mine\n")]),
            "libs/inner/lib.c",
        ),
        (
            "T2",
            &|inner| write_files(inner, &[("new.c", "mine\n")]),
            "libs/inner/new.c",
        ),
        (
            "T3",
            &|inner| std::fs::remove_file(inner.join("lib.c")).unwrap(),
            "libs/inner",
        ),
        (
            "T4",
            &|inner| std::fs::remove_dir_all(inner).unwrap(),
            "libs/inner",
        ),
        (
            "T5",
            &|inner| write_files(inner, &[("deep/lowest", "mine\n")]),
            "libs/inner/deep/lowest",
        ),
        (
            "T6",
            &|inner| git_in(inner, &["init", "-q"]).clear(),
            "libs/inner/.git",
        ),
        (
            "T7",
            &|inner| {
                std::fs::remove_dir_all(inner).unwrap();
                std::fs::write(inner, "a file\n").unwrap();
            },
            "libs/inner",
        ),
    ];
    for (name, change, expected) in table {
        let worktree = fixture.worktree(&repo, name);
        // The control: nothing has changed yet.
        repo.store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap();
        change(&worktree.path().join("libs/inner"));
        let (path, reason) = unstorable(&fixture, &worktree);
        assert_eq!(path, expected, "{name}: {reason}");
        assert!(
            reason.contains("submodule") && reason.contains("undo it"),
            "{name}: {reason}"
        );
    }
    // The same content written again is no change.
    let worktree = fixture.worktree(&repo, "T8");
    write_files(worktree.path(), &[("libs/inner/lib.c", "one\n")]);
    repo.store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap();
}

#[test]
fn commands_find_submodules_read_only() {
    let Nested { fixture, .. } = nested();
    let worktree = fixture.worktree(&fixture.repo(), "T1");
    let read_only = |worktree: &Worktree| {
        let View::Host(view) = worktree.seen().view;
        let below = |path: PathBuf| path.strip_prefix(worktree.path()).ok().map(Path::to_owned);
        let masks = view
            .masks
            .into_iter()
            .filter(|mask| mask.content == Content::ReadOnly);
        masks
            .filter_map(|mask| below(mask.path))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        read_only(&worktree),
        [".git", "libs/inner"].map(PathBuf::from)
    );
    // The same where the worktree is mounted at the path of the checkout.
    let mounted = fixture
        .repo()
        .confined_in(Confinement::Full)
        .worktrees()
        .open(worktree.path())
        .unwrap();
    let View::Host(view) = mounted.seen().view;
    let content = Mounted::ReadOnly(worktree.path().join("libs/inner"));
    let expected = Mount {
        at: fixture.project().join("libs/inner"),
        content,
    };
    assert!(view.mounts.contains(&expected), "{:?}", view.mounts);
    // There is nothing to cover once it is gone.
    std::fs::remove_dir_all(worktree.path().join("libs")).unwrap();
    assert_eq!(read_only(&worktree), [PathBuf::from(".git")]);
}

#[test]
fn what_the_repository_lacks_is_left_empty_with_a_warning() {
    let Nested { fixture, inner, .. } = nested();
    assert_eq!(fixture.repo().warnings().unwrap(), []);
    let pin = |to: &str| {
        fixture.git(&[
            "update-index",
            "--cacheinfo",
            &format!("160000,{to},libs/inner"),
        ]);
        fixture.git(&["commit", "-q", "-m", "pin"]);
    };
    let name = |name: &str| {
        let names = format!("[submodule \"{name}\"]\n\tpath = libs/inner\n\turl = x\n");
        write_files(&fixture.project(), &[(".gitmodules", &names)]);
        fixture.git(&["add", ".gitmodules"]);
        fixture.git(&["commit", "-q", "-m", "name"]);
    };
    let pinned = fixture.git(&["rev-parse", "HEAD:libs/inner"]);
    let missing = inner.commit_files(&[("lib.c", "two\n")], "second");
    let require = |name: &str, reason: LeftEmpty| {
        let repo = fixture.repo();
        repo.require_ready().unwrap();
        let warnings = repo.warnings().unwrap();
        let expected = Warning::EmptySubmodule {
            path: "libs/inner".into(),
            reason,
        };
        assert!(warnings.contains(&expected), "{warnings:?}");
        let worktree = fixture.worktree(&repo, name);
        assert_eq!(
            std::fs::read_dir(worktree.path().join("libs/inner"))
                .unwrap()
                .count(),
            0,
            "{name}"
        );
        let snapshot = repo
            .store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap();
        assert!(!snapshot.changed, "{name}");
        // What is written there would be in no commit.
        write_files(worktree.path(), &[("libs/inner/file", "lost\n")]);
        assert_eq!(unstorable(&fixture, &worktree).0, "libs/inner");
    };
    pin(missing.as_str());
    require("T1", LeftEmpty::Incomplete(missing.to_string()));
    pin(&pinned);
    let outside = format!(
        "../../{}",
        inner.project().strip_prefix("/").unwrap().display()
    );
    for (at, bad) in ["../../outside", "a/../../..", "/etc", outside.as_str()]
        .into_iter()
        .enumerate()
    {
        name(bad);
        require(&format!("T2{at}"), LeftEmpty::UnsafeName(bad.to_owned()));
    }
    name("other");
    require("T3", LeftEmpty::NotThere);
    fixture.git(&["rm", "-q", "--cached", ".gitmodules"]);
    fixture.git(&["commit", "-q", "-m", "no names"]);
    require("T4", LeftEmpty::Unnamed);
}

#[test]
fn bringing_a_submodule_runs_nothing_of_it() {
    let Nested { fixture, .. } = nested();
    let planted = fixture.planted();
    let module = fixture.project().join(".git/modules/libs/inner");
    for (key, value) in [
        ("core.fsmonitor", &planted),
        ("filter.x.smudge", &planted),
        ("core.worktree", &fixture.path()),
    ] {
        git_in(
            &fixture.project(),
            &[
                "--git-dir",
                module.to_str().unwrap(),
                "config",
                key,
                value.to_str().unwrap(),
            ],
        );
    }
    std::fs::create_dir_all(module.join("info")).unwrap();
    std::fs::write(module.join("info/attributes"), "* filter=x\n").unwrap();
    std::fs::create_dir_all(module.join("hooks")).unwrap();
    std::fs::copy(&planted, module.join("hooks/post-checkout")).unwrap();
    let worktree = fixture.worktree(&fixture.repo(), "T1");
    assert_eq!(text(&worktree, "libs/inner/lib.c"), "one\n");
    assert!(!fixture.canary().exists());
}

#[test]
fn a_worktree_that_was_filled_in_part_is_completed() {
    let Nested { fixture, .. } = nested();
    let worktree = fixture.worktree(&fixture.repo(), "T1");
    // As a process leaves it that is killed before it has written the submodule.
    std::fs::remove_dir_all(worktree.admin_dir().join("orchestrate-submodules")).unwrap();
    std::fs::remove_dir_all(worktree.path().join("libs/inner")).unwrap();
    std::fs::create_dir(worktree.path().join("libs/inner")).unwrap();
    let again = fixture.worktree(&fixture.repo(), "T1");
    assert_eq!(text(&again, "libs/inner/lib.c"), "one\n");
    fixture
        .repo()
        .store()
        .snapshot(&again, &SnapshotRules::default())
        .unwrap();
}

#[test]
fn a_pin_that_the_other_side_moved_comes_with_the_merge() {
    let Nested { fixture, inner, .. } = nested();
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("a", "agent\n")]);
    let candidate = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    inner.commit_files(&[("lib.c", "two\n")], "second");
    git_in(
        &fixture.project().join("libs/inner"),
        &["-c", ALLOWED, "pull", "-q", "--no-recurse-submodules"],
    );
    let target = fixture.commit_files(&[("a", "other\n")], "move the pin");
    let written = repo.merging().write_conflict(
        &worktree,
        &target,
        &candidate,
        "refs/orchestrate/keep/r-test01/T1/conflict",
    );
    assert_eq!(written.unwrap().files.len(), 1);
    assert_eq!(text(&worktree, "libs/inner/lib.c"), "two\n");
    write_files(worktree.path(), &[("a", "both\n")]);
    let repaired = fixture.commit(&repo, &worktree, &[&target, &candidate]);
    assert_eq!(
        fixture.git(&[
            "diff-tree",
            "-r",
            "--name-only",
            target.as_str(),
            repaired.as_str()
        ]),
        "a"
    );
}
