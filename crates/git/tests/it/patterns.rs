//! Patterns that take git for ever, and what is no file in their place.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use orchestrate_git::{GitError, Refusal, Repo, SnapshotRules};

use crate::support::{Fixture, make_pipe, write_files};

/// Names that git reads patterns from.
const FILES: [&str; 3] = [".gitattributes", ".gitignore", ".worktreeinclude"];

/// The deepest of thirty folders.
fn deep() -> String {
    "a/".repeat(30)
}

/// A pattern that git tries in 2^40 ways.
fn bomb() -> String {
    format!("{}b text\n", "**/".repeat(40))
}

/// Requires a refusal that names a file.
fn refuses(repo: &Repo, name: &str) {
    let error = repo.require_ready().unwrap_err();
    let GitError::Refused { refusal: Refusal::Patterns { path, .. }, .. } = &error else { panic!("{error}") };
    assert_eq!(path, Path::new(name), "{error}");
}

#[test]
fn a_commit_with_patterns_that_take_for_ever_is_refused() {
    for name in FILES {
        let fixture = Fixture::new(&[("a/b", "1\n")]);
        write_files(&fixture.project(), &[(&format!("{}f", deep()), "1\n")]);
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-q", "-m", "deep"]);
        // Git would hang while it writes such a commit.
        let repository = git2::Repository::open(fixture.project()).unwrap();
        let head = repository.head().unwrap().peel_to_tree().unwrap();
        let mut tree = repository.treebuilder(Some(&head)).unwrap();
        tree.insert(name, repository.blob(bomb().as_bytes()).unwrap(), 0o100_644).unwrap();
        let tree = tree.write().unwrap().to_string();
        let commit = fixture.git(&["commit-tree", &tree, "-p", "HEAD", "-m", "bomb"]);
        fixture.git(&["update-ref", "HEAD", &commit]);
        refuses(&fixture.repo(), name);
    }
}

#[test]
fn a_checkout_with_patterns_that_take_for_ever_is_refused_and_git_itself_hangs() {
    for name in FILES {
        for folder in ["", "a/"] {
            let fixture = Fixture::new(&[(&format!("{}f", deep()), "1\n")]);
            let file = format!("{folder}{name}");
            write_files(&fixture.project(), &[(&file, &bomb()), (&format!("{}new", deep()), "1\n")]);
            if name == ".worktreeinclude" && !folder.is_empty() {
                continue;
            }
            refuses(&fixture.repo(), &file);
            if !folder.is_empty() {
                continue;
            }
            // The control: git uses up whatever time it is given.
            let asks = match name {
                ".gitattributes" => "check-attr text ",
                ".gitignore" => "check-ignore --no-index ",
                _ => "ls-files --others --ignored --exclude-from=.worktreeinclude ",
            };
            let path = if name == ".worktreeinclude" { String::new() } else { format!("{}new", deep()) };
            let script = format!("ulimit -t 1; exec git {asks}{path}");
            let mut control = Command::new("sh");
            let ended = control.args(["-c", &script]).current_dir(fixture.project()).stdout(Stdio::null()).status();
            assert_eq!(ended.unwrap().code(), None, "the attack does not work on git itself");
        }
    }
}

#[test]
fn what_is_no_file_of_patterns_is_refused() {
    type Plant<'a> = (&'a str, &'a dyn Fn(&Path));
    let plants: [Plant<'_>; 3] = [
        ("no regular file", &|path| make_pipe(path)),
        ("no regular file", &|path| drop(std::os::unix::net::UnixListener::bind(path).unwrap())),
        ("more than 1048576 bytes", &|path| std::fs::File::create(path).unwrap().set_len(8 << 30).unwrap()),
    ];
    for name in FILES {
        for (said, plant) in plants {
            let fixture = Fixture::new(&[("a/b", "1\n")]);
            let repo = fixture.repo();
            plant(&fixture.project().join(name));
            refuses(&repo, name);
            assert!(repo.require_ready().unwrap_err().to_string().contains(said));
        }
    }
    let fixture = Fixture::new(&[("a/b", "1\n")]);
    symlink("/proc/self/environ", fixture.project().join(".worktreeinclude")).unwrap();
    refuses(&fixture.repo(), ".worktreeinclude");
}

#[test]
fn an_agents_patterns_that_take_for_ever_are_not_stored() {
    for name in FILES {
        let fixture = Fixture::new(&[("a/b", "1\n")]);
        let repo = fixture.repo();
        let worktree = fixture.worktree(&repo, "T1");
        write_files(worktree.path(), &[(name, &bomb()), (&format!("{}f", deep()), "1\n")]);
        let error = repo.snapshot(&worktree, &SnapshotRules::default()).unwrap_err();
        assert!(matches!(&error, GitError::Unstorable { path, .. } if path == Path::new(name)), "{error}");
        // With one that people write, the same tree is stored.
        write_files(worktree.path(), &[(name, "**/b text\n")]);
        repo.snapshot(&worktree, &SnapshotRules::default()).unwrap();
    }
}
