//! What a setup has made: what is brought to another worktree, and what never is.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use orchestrate_git::{CopyLimit, Repo, Worktree};
use orchestrate_sandbox::Confinement;

use crate::support::{Fixture, git_in, make_pipe, write_files};

/// Creates a repository in which git ignores `made/` and `*.env`, with the worktrees of a setup and
/// of a task.
fn two(files: &[(&str, &str)]) -> (Fixture, Repo, Worktree, Worktree) {
    let ignored = [
        (".gitignore", "made/\n.venv/\n*.env\n"),
        ("src/main", "1\n"),
    ];
    let fixture = Fixture::new(&[&ignored, files].concat());
    let repo = fixture.repo();
    let from = fixture.worktree(&repo, "setup");
    let to = fixture.worktree(&repo, "T1");
    (fixture, repo, from, to)
}

/// Brings what was made; `None` if it cannot be brought anywhere.
fn bring(repo: &Repo, from: &Worktree, to: &Worktree) -> Option<bool> {
    let made = repo.worktrees().made(from).unwrap()?;
    Some(repo.worktrees().bring_made(&made, from, to).unwrap())
}

fn read(worktree: &Worktree, path: &str) -> String {
    std::fs::read_to_string(worktree.path().join(path))
        .unwrap_or_else(|error| error.kind().to_string())
}

fn in_past(path: &Path) -> SystemTime {
    let past = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    std::fs::File::open(path)
        .unwrap()
        .set_modified(past)
        .unwrap();
    past
}

#[test]
fn it_arrives_as_it_was_made() {
    let (_fixture, repo, from, to) = two(&[]);
    let own = from.path().display().to_string();
    let script = format!("#!{own}/made/python\n");
    let files = [
        ("made/a/data", "1"),
        ("made/bin/tool", script.as_str()),
        ("made/.empty", ""),
        ("x.env", "X=1\n"),
    ];
    write_files(from.path(), &files);
    std::fs::create_dir(from.path().join("made/void")).unwrap();
    std::fs::set_permissions(
        from.path().join("made/bin/tool"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    symlink(
        from.path().join("made/a"),
        from.path().join("made/absolute"),
    )
    .unwrap();
    symlink("a/data", from.path().join("made/relative")).unwrap();
    symlink("/usr/bin/env", from.path().join("made/outside")).unwrap();
    let timed = ["made/a/data", "made/bin/tool", "made/a", "made"]
        .map(|path| (path, in_past(&from.path().join(path))));
    assert_eq!(bring(&repo, &from, &to), Some(true));
    assert_eq!(
        ["made/a/data", "made/.empty", "x.env"].map(|path| read(&to, path)),
        ["1", "", "X=1\n"]
    );
    assert_eq!(
        read(&to, "made/bin/tool"),
        format!("#!{}/made/python\n", to.path().display())
    );
    let target = |name: &str| std::fs::read_link(to.path().join(name)).unwrap();
    assert_eq!(target("made/absolute"), to.path().join("made/a"));
    assert_eq!(target("made/relative"), Path::new("a/data"));
    assert_eq!(target("made/outside"), Path::new("/usr/bin/env"));
    let mode = std::fs::metadata(to.path().join("made/bin/tool"))
        .unwrap()
        .permissions()
        .mode();
    assert!(
        mode & 0o100 != 0 && to.path().join("made/void").is_dir(),
        "{mode:o}"
    );
    for (path, time) in timed {
        assert_eq!(
            std::fs::metadata(to.path().join(path))
                .unwrap()
                .modified()
                .unwrap(),
            time,
            "{path}"
        );
    }
    let links = std::fs::metadata(to.path().join("made/a/data"))
        .unwrap()
        .nlink();
    assert_eq!(links, 1, "an agent could write through a link");
}

/// What an agent does there afterwards stays.
#[test]
fn it_is_brought_once() {
    let (_fixture, repo, from, to) = two(&[]);
    write_files(from.path(), &[("made/data", "1")]);
    assert_eq!(bring(&repo, &from, &to), Some(true));
    write_files(to.path(), &[("made/data", "changed")]);
    assert_eq!(bring(&repo, &from, &to), Some(true));
    assert_eq!(read(&to, "made/data"), "changed");
    std::fs::remove_dir_all(to.path().join("made")).unwrap();
    assert_eq!(bring(&repo, &from, &to), Some(false));
}

#[test]
fn a_copy_that_was_interrupted_is_completed() {
    let (_fixture, repo, from, to) = two(&[]);
    write_files(from.path(), &[("made/a/data", "1"), ("made/b", "2")]);
    write_files(to.path(), &[("made/a/data", "")]);
    assert_eq!(bring(&repo, &from, &to), Some(false));
    std::fs::write(to.admin_dir().join("orchestrate-made"), "begun").unwrap();
    assert_eq!(bring(&repo, &from, &to), Some(true));
    assert_eq!(
        ["made/a/data", "made/b"].map(|path| read(&to, path)),
        ["1", "2"]
    );
}

#[test]
fn what_cannot_be_moved_is_not_brought() {
    type Make = fn(&Worktree);
    let write = |worktree: &Worktree, path: &str, text: &str| {
        write_files(
            worktree.path(),
            &[(
                path,
                &text.replace("HERE", &worktree.path().display().to_string()),
            )],
        );
    };
    let unmovable = [
        ("made/compile_commands.json", "[{\"directory\": \"HERE\"}]"),
        ("made/x.d", "x.o: HERE/src/main"),
        ("local.env", "ROOT=HERE\n"),
        ("made/CMakeCache.txt", "SOURCE=HERE"),
        ("made/program", "\u{0}HERE/lib\u{0}"),
        ("made/escaped.json", "\"worktrees\\/setup\\/x\""),
        ("made/relative", "../../worktrees/setup/x"),
        (
            "made/bin/tool",
            "#!/bin/sh\nexec HERE/x ../worktrees/setup/y\n",
        ),
        ("new", "not ignored"),
        ("src/main", "changed"),
        ("made/clone/.git/HEAD", "ref: refs/heads/main"),
    ];
    for (path, text) in unmovable {
        let (_fixture, repo, from, to) = two(&[]);
        write(&from, path, text);
        assert_eq!(bring(&repo, &from, &to), None, "{path}");
    }
    let (_fixture, repo, from, to) = two(&[]);
    let big = format!("{}{}", "x".repeat(9 << 20), from.path().display());
    write_files(from.path(), &[("made/big", &big)]);
    assert_eq!(bring(&repo, &from, &to), None, "a large file");
    let odd: [(&str, Make); 3] = [
        ("an empty folder", |from| {
            std::fs::create_dir(from.path().join("logs")).unwrap()
        }),
        ("a pipe", |from| {
            std::fs::create_dir(from.path().join("made")).unwrap();
            make_pipe(&from.path().join("made/pipe"));
        }),
        ("a link to a neighbour", |from| {
            std::fs::create_dir(from.path().join("made")).unwrap();
            symlink("../../T1/src", from.path().join("made/link")).unwrap();
        }),
    ];
    for (what, make) in odd {
        let (_fixture, repo, from, to) = two(&[]);
        make(&from);
        assert_eq!(bring(&repo, &from, &to), None, "{what}");
    }
}

#[test]
fn modules_that_python_compiles_again_are_left_out() {
    let (_fixture, repo, from, to) = two(&[]);
    let own = from.path().display().to_string();
    write_files(
        from.path(),
        &[
            (".venv/a.py", "a"),
            (".venv/__pycache__/a.pyc", &own),
            (".venv/__pycache__/b.pyc", "b"),
        ],
    );
    assert_eq!(bring(&repo, &from, &to), Some(true));
    let there = [
        ".venv/a.py",
        ".venv/__pycache__/a.pyc",
        ".venv/__pycache__/b.pyc",
    ]
    .map(|path| read(&to, path));
    assert_eq!(there, ["a", "entity not found", "b"]);
}

/// Whatever the other worktree has in the way, it keeps.
#[test]
fn nothing_is_ever_replaced() {
    let has: [&[(&str, &str)]; 4] = [
        &[("made/data", "an agent's")],
        &[("made/other", "2")],
        &[("made", "a file")],
        &[],
    ];
    for files in has {
        let (fixture, repo, from, to) = two(&[]);
        write_files(from.path(), &[("made/data", "1")]);
        write_files(to.path(), files);
        if files.is_empty() {
            std::fs::create_dir(fixture.path().join("elsewhere")).unwrap();
            symlink(fixture.path().join("elsewhere"), to.path().join("made")).unwrap();
        }
        assert_eq!(bring(&repo, &from, &to), Some(false), "{files:?}");
        assert!(
            files.iter().all(|(path, text)| read(&to, path) == *text),
            "{files:?}"
        );
        assert!(!fixture.path().join("elsewhere/data").exists());
    }
}

/// An agent's commit may track what the base's setup makes, or no longer ignore it.
#[test]
fn nothing_comes_near_a_tracked_path() {
    let commits: [&[(&str, &str)]; 4] = [
        &[("made/data", "an agent's")],
        &[("made/deep/other", "an agent's")],
        &[("made", "a file")],
        &[(".gitignore", "*.env\n")],
    ];
    for files in commits {
        let (fixture, repo, from, _) = two(&[]);
        write_files(from.path(), &[("made/data", "1"), ("made/deep/x", "2")]);
        write_files(&fixture.project(), files);
        for (path, _) in files {
            fixture.git(&["add", "-f", path]);
        }
        fixture.git(&["commit", "-q", "-m", "work"]);
        let to = fixture.worktree(&repo, "T2");
        assert_eq!(bring(&repo, &from, &to), Some(false), "{files:?}");
        assert_eq!(
            git_in(to.path(), &["status", "--porcelain", "--ignored"]),
            "",
            "{files:?}"
        );
    }
    // The base tracks a file in an ignored folder.
    let (fixture, repo, ..) = two(&[]);
    write_files(&fixture.project(), &[("made/tracked", "1")]);
    fixture.git(&["add", "-f", "made/tracked"]);
    fixture.git(&["commit", "-q", "-m", "tracked"]);
    let (from, to) = (fixture.worktree(&repo, "S"), fixture.worktree(&repo, "T3"));
    write_files(from.path(), &[("made/data", "1")]);
    assert_eq!(bring(&repo, &from, &to), None);
}

#[test]
fn copies_of_the_users_files_stay_those_of_each_worktree() {
    let (fixture, repo, from, to) = two(&[(".worktreeinclude", "*.env\nmade/key\n")]);
    write_files(&fixture.project(), &[("x.env", "old"), ("made/key", "old")]);
    repo.worktrees().copy_included(&from).unwrap();
    write_files(from.path(), &[("made/data", "1")]);
    write_files(&fixture.project(), &[("x.env", "new"), ("made/key", "new")]);
    repo.worktrees().copy_included(&to).unwrap();
    assert_eq!(bring(&repo, &from, &to), Some(true));
    assert_eq!(
        ["x.env", "made/key", "made/data"].map(|path| read(&to, path)),
        ["new", "new", "1"]
    );
}

fn outputs(repo: &Repo, from: &Worktree, bytes: u64) -> (Vec<PathBuf>, Vec<String>) {
    let outputs = repo
        .worktrees()
        .outputs(
            from,
            &[],
            CopyLimit {
                bytes,
                files: 1_000,
            },
        )
        .unwrap();
    let left_out = outputs
        .left_out
        .iter()
        .map(|left| format!("{}: {}", left.path.display(), left.reason));
    (outputs.paths(), left_out.collect())
}

/// Elsewhere, a path into the checkout would lead a check of an agent's work to the user's files.
#[test]
fn outputs_that_name_the_checkout_are_brought_only_where_that_is_the_worktree() {
    let (fixture, repo, from, _) = two(&[]);
    let checkout = fixture.project().display().to_string();
    let own = from.path().display().to_string();
    let encoded = checkout.replace('/', "\\/");
    write_files(
        from.path(),
        &[
            ("made/x.json", &format!("\"{encoded}\"")),
            (".venv/program", &format!("\0{checkout}/src\0")),
            ("beside.env", &format!("ROOT={checkout}-2/src\n")),
            ("own.env", &format!("ROOT={own}/src\n")),
        ],
    );
    let (paths, left_out) = outputs(&repo, &from, 1 << 20);
    assert_eq!(paths, [Path::new("beside.env")]);
    let expected = [
        ".venv: .venv/program names your checkout",
        "made: made/x.json names your checkout",
        "own.env: own.env names the folder that it was made in",
    ];
    assert_eq!(left_out, expected);
    // It is not read whether it names anything.
    let (paths, left_out) = outputs(&repo, &from, 10);
    assert!(
        paths.is_empty()
            && left_out
                .iter()
                .all(|left| left.contains(" would be copied; ")),
        "{left_out:?}"
    );
    let mounted = fixture.repo().confined_in(Confinement::Full);
    let (paths, left_out) = outputs(
        &mounted,
        &mounted.worktrees().open(from.path()).unwrap(),
        1 << 20,
    );
    assert_eq!((paths.len(), left_out), (4, Vec::new()));
}

/// A text may begin in one part of a large file and end in the next.
#[test]
fn a_path_is_found_wherever_it_stands_in_a_large_file() {
    let (fixture, repo, from, _) = two(&[]);
    let checkout = fixture.project().display().to_string();
    for before in [0, (1 << 20) - checkout.len(), (1 << 20) - 1, 3 << 20] {
        let text = format!("{}{checkout}", " ".repeat(before));
        write_files(from.path(), &[("made/large", &text)]);
        let (paths, left_out) = outputs(&repo, &from, 1 << 30);
        assert!(
            paths.is_empty() && left_out.len() == 1,
            "{before}: {left_out:?}"
        );
        write_files(from.path(), &[("made/large", &format!("{text}x"))]);
        assert_eq!(
            outputs(&repo, &from, 1 << 30).0,
            [Path::new("made")],
            "{before}"
        );
    }
}
