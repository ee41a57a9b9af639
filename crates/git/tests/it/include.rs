//! What `.worktreeinclude` copies into a worktree, and what it never copies.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use orchestrate_git::{GitError, Refusal, Worktree};

use crate::support::{Fixture, git_in, make_pipe, write_files};

/// Creates a repository with these patterns in its `.worktreeinclude`, in which git ignores `local/`
/// and `*.env`.
fn naming(patterns: &str) -> Fixture {
    Fixture::new(&[(".gitignore", "local/\n*.env\n"), (".worktreeinclude", patterns), ("tracked", "1\n")])
}

fn included(fixture: &Fixture) -> (Worktree, Result<Vec<PathBuf>, GitError>) {
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let copied = repo.worktrees().copy_included(&worktree);
    (worktree, copied)
}

#[test]
fn patterns_are_those_of_git() {
    let files = ["local/a", "local/deep/b.key", "local/c.key", "x.env", "deep/y.env", "z.env"];
    for (patterns, expected) in [
        ("", vec![]),
        ("# local/\n\n", vec![]),
        ("local/\n", vec!["local/a", "local/c.key", "local/deep/b.key"]),
        ("/local/*\n!/local/deep/\n", vec!["local/a", "local/c.key"]),
        ("local/**/*.key\n", vec!["local/c.key", "local/deep/b.key"]),
        ("*.env\n!z.env\n", vec!["deep/y.env", "x.env"]),
        ("/*.env\n", vec!["x.env", "z.env"]),
        ("../*\n/etc/passwd\ntracked\n", vec![]),
    ] {
        let fixture = naming(patterns);
        write_files(&fixture.project(), &files.map(|file| (file, file)));
        let (worktree, copied) = included(&fixture);
        assert_eq!(copied.unwrap(), expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{patterns}");
        for file in files {
            let content = std::fs::read_to_string(worktree.path().join(file)).ok();
            assert_eq!(content.as_deref(), expected.contains(&file).then_some(file), "{patterns}: {file}");
        }
    }
    let (_, copied) = included(&Fixture::new(&[("tracked", "1\n")]));
    assert_eq!(copied.unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn names_and_modes_are_kept() {
    let fixture = naming("local/\n");
    let names: [&[u8]; 4] = [b"local/-f", b"local/\xff", b"local/a\nb", b"local/with space"];
    let names = names.map(|name| PathBuf::from(OsStr::from_bytes(name)));
    std::fs::create_dir(fixture.project().join("local")).unwrap();
    for name in &names {
        std::fs::write(fixture.project().join(name), "x").unwrap();
    }
    let modes = [0o755, 0o600, 0o444, 0o640];
    for (name, mode) in names.iter().zip(modes) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(fixture.project().join(name), permissions).unwrap();
    }
    // Left by a process that was killed while it copied.
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("local/.a\nb.orchestrate-tmp", "half")]);
    let mut copied = repo.worktrees().copy_included(&worktree).unwrap();
    copied.sort();
    let mut expected = names.to_vec();
    expected.sort();
    assert_eq!(copied, expected);
    let mode = |name: &PathBuf| std::fs::metadata(worktree.path().join(name)).unwrap().permissions().mode() & 0o777;
    for (name, allowed) in names.iter().zip(modes) {
        let (mode, owners) = (mode(name), allowed & 0o700);
        assert!(mode & !allowed == 0 && mode & 0o700 == owners, "{}: {mode:o} of {allowed:o}", name.display());
    }
}

#[test]
fn links_are_links_and_pipes_and_repositories_are_left_out() {
    let fixture = naming("local/\nlinked\n*.env\n");
    std::fs::write(fixture.project().join(".gitignore"), "local/\nlinked\n*.env\n").unwrap();
    let outside = fixture.path().join("outside");
    write_files(&outside, &[("secret", "outside")]);
    write_files(&fixture.project(), &[("local/kept", "kept"), ("local/nested/inner", "inner")]);
    symlink(outside.join("secret"), fixture.project().join("a.env")).unwrap();
    symlink("local/kept", fixture.project().join("b.env")).unwrap();
    symlink(&outside, fixture.project().join("linked")).unwrap();
    make_pipe(&fixture.project().join("local/pipe"));
    git_in(&fixture.project().join("local/nested"), &["init", "-q"]);
    let (worktree, copied) = included(&fixture);
    assert_eq!(copied.unwrap(), ["a.env", "b.env", "linked", "local/kept"].map(PathBuf::from));
    for (link, target) in [("a.env", outside.join("secret")), ("b.env", "local/kept".into()), ("linked", outside)] {
        assert_eq!(std::fs::read_link(worktree.path().join(link)).unwrap(), target);
    }
    for absent in ["local/pipe", "local/nested"] {
        assert!(worktree.path().join(absent).symlink_metadata().is_err(), "{absent}");
    }
}

/// The user's checkout may be at another commit than the worktree, and a folder of one may be a
/// file of the other.
#[test]
fn what_is_in_the_worktree_stays() {
    let fixture = naming("local/\nlinked/\nx.env\n");
    let outside = fixture.path().join("outside");
    write_files(&outside, &[("kept", "outside")]);
    write_files(&fixture.project(), &[("local", "a file\n"), ("x.env", "tracked\n")]);
    symlink(&outside, fixture.project().join("linked")).unwrap();
    fixture.git(&["add", "-f", "local", "linked", "x.env"]);
    fixture.git(&["commit", "-q", "-m", "files"]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    fixture.git(&["rm", "-q", "local", "linked", "x.env"]);
    write_files(
        &fixture.project(),
        &[(".gitignore", "local/\nlinked/\n*.env\n"), ("local/a", "a"), ("linked/kept", "b"), ("x.env", "ignored\n")],
    );
    assert_eq!(repo.worktrees().copy_included(&worktree).unwrap(), Vec::<PathBuf>::new());
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!([read(&worktree.path().join("local")), read(&worktree.path().join("x.env"))], ["a file\n", "tracked\n"]);
    assert_eq!(std::fs::read_link(worktree.path().join("linked")).unwrap(), outside);
    assert_eq!(read(&outside.join("kept")), "outside");
    assert_eq!(git_in(worktree.path(), &["status", "--porcelain"]), "");
}

#[test]
fn large_ones_are_copied_and_too_many_are_refused_before_a_run() {
    let fixture = naming("local/\n");
    std::fs::create_dir(fixture.project().join("local")).unwrap();
    std::fs::File::create(fixture.project().join("local/large")).unwrap().set_len(64 << 20).unwrap();
    let (worktree, copied) = included(&fixture);
    assert_eq!(copied.unwrap(), ["local/large"].map(PathBuf::from));
    assert_eq!(worktree.path().join("local/large").metadata().unwrap().len(), 64 << 20);
    for number in 0..50_000 {
        std::fs::File::create(fixture.project().join(format!("local/{number}"))).unwrap();
    }
    let refused = fixture.repo().require_ready();
    let expected = Refusal::IncludesTooMuch { path: ".worktreeinclude".into(), files: 50_001 };
    assert!(matches!(&refused, Err(GitError::Refused { refusal, .. }) if *refusal == expected), "{refused:?}");
}
