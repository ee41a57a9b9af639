//! Files of patterns that git would match for ever, and other things in place of such a file.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use orchestrate_git::{GitError, Repo, RepositoryRefusal, SnapshotRules};

use crate::support::{Fixture, make_pipe, write_files};

/// The names of files from which git reads patterns.
const FILES: [&str; 3] = [".gitattributes", ".gitignore", ".worktreeinclude"];

/// Returns the path of the deepest of thirty folders.
fn deep() -> String {
    "a/".repeat(30)
}

/// Returns a pattern that git tries in 2^40 ways.
fn bomb() -> String {
    format!("{}b text\n", "**/".repeat(40))
}

/// Asserts that a file is refused by name.
fn refuses(repo: &Repo, name: &str) {
    let error = repo.require_ready().unwrap_err();
    let GitError::Refused {
        refusal: RepositoryRefusal::Patterns { path, .. },
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(path, Path::new(name), "{error}");
}

#[test]
fn a_commit_with_patterns_that_take_for_ever_is_refused() {
    for name in FILES {
        let fixture = Fixture::new(&[("a/b", "1\n")]);
        write_files(&fixture.project(), &[(&format!("{}f", deep()), "1\n")]);
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-q", "-m", "deep"]);
        // Git would hang while it creates such a commit.
        let repository = git2::Repository::open(fixture.project()).unwrap();
        let head = repository.head().unwrap().peel_to_tree().unwrap();
        let mut tree = repository.treebuilder(Some(&head)).unwrap();
        tree.insert(name, repository.blob(bomb().as_bytes()).unwrap(), 0o100_644)
            .unwrap();
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
            write_files(
                &fixture.project(),
                &[(&file, &bomb()), (&format!("{}new", deep()), "1\n")],
            );
            if name == ".worktreeinclude" && !folder.is_empty() {
                continue;
            }
            refuses(&fixture.repo(), &file);
            if !folder.is_empty() {
                continue;
            }
            // The control: git uses all the time that it is given.
            let asks = match name {
                ".gitattributes" => "check-attr text ",
                ".gitignore" => "check-ignore --no-index ",
                _ => "ls-files --others --ignored --exclude-from=.worktreeinclude ",
            };
            let path = if name == ".worktreeinclude" {
                String::new()
            } else {
                format!("{}new", deep())
            };
            let script = format!("ulimit -t 1; exec git {asks}{path}");
            let mut control = Command::new("sh");
            let ended = control
                .args(["-c", &script])
                .current_dir(fixture.project())
                .stdout(Stdio::null())
                .status();
            assert_eq!(
                ended.unwrap().code(),
                None,
                "the attack does not work on git itself"
            );
        }
    }
}

#[test]
fn what_is_no_file_of_patterns_is_refused() {
    type Plant<'a> = (&'a str, &'a dyn Fn(&Path));
    let plants: [Plant<'_>; 3] = [
        ("not a regular file", &|path| make_pipe(path)),
        ("not a regular file", &|path| {
            drop(std::os::unix::net::UnixListener::bind(path).unwrap())
        }),
        ("more than 1048576 bytes", &|path| {
            std::fs::File::create(path)
                .unwrap()
                .set_len(8 << 30)
                .unwrap()
        }),
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
    symlink(
        "/proc/self/environ",
        fixture.project().join(".worktreeinclude"),
    )
    .unwrap();
    refuses(&fixture.repo(), ".worktreeinclude");
}

#[test]
fn an_agents_patterns_that_take_for_ever_are_not_stored() {
    for name in FILES {
        let fixture = Fixture::new(&[("a/b", "1\n")]);
        let repo = fixture.repo();
        let worktree = fixture.worktree(&repo, "T1");
        write_files(
            worktree.path(),
            &[(name, &bomb()), (&format!("{}f", deep()), "1\n")],
        );
        let error = repo
            .store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap_err();
        assert!(
            matches!(&error, GitError::Unstorable { path, .. } if path == Path::new(name)),
            "{error}"
        );
        // With patterns that people write, the same tree is stored.
        write_files(worktree.path(), &[(name, "**/b text\n")]);
        repo.store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap();
    }
}

/// Returns lines that take libgit2 or some git for ever on the files of [`hostile`]; people do not
/// write such lines.
fn bombs() -> [String; 3] {
    let rules: String = (0..200)
        .map(|at| format!("{}{}b{at}\n", "**/".repeat(8), "a*".repeat(8)))
        .collect();
    [
        format!("{}b text\n", "a*".repeat(9)),
        format!("{}b text\n", "**/a*".repeat(12)),
        rules,
    ]
}

/// Creates a repository with thirty folders and long names, on which stars can be placed in many
/// ways.
fn hostile() -> Fixture {
    let long = format!("{}0", "a".repeat(60));
    Fixture::new(&[
        (&format!("{}f", deep()), "1\n"),
        (&long, "1\n"),
        (&format!("{}{long}", deep()), "1\n"),
    ])
}

#[test]
fn stars_of_any_kind_are_bounded_wherever_patterns_are_read_from() {
    let own = ["info/exclude", "info/attributes"].map(|name| format!(".git/{name}"));
    for file in FILES.map(str::to_owned).into_iter().chain(own) {
        let fixture = hostile();
        std::fs::create_dir_all(fixture.project().join(".git/info")).unwrap();
        let named = if file.starts_with(".git/") {
            fixture.project().join(&file)
        } else {
            file.clone().into()
        };
        for text in bombs() {
            write_files(&fixture.project(), &[(&file, &text)]);
            refuses(&fixture.repo(), named.to_str().unwrap());
        }
        // With lines that people write, the same repository is accepted.
        write_files(&fixture.project(), &[(&file, USUAL)]);
        fixture.repo().require_ready().unwrap();
        fixture.repo().warnings().unwrap();
    }
}

/// Lines that people write.
const USUAL: &str = "*.min.*.js\n**/node_modules/**\ndocs/**/*.md\n[Bb]in/\n*-*-*-*.log\n";

#[test]
fn stars_are_bounded_in_files_that_the_configuration_names() {
    for key in ["core.excludesFile", "core.attributesFile"] {
        let fixture = hostile();
        let patterns = fixture.path().join("patterns");
        fixture.configure(key, patterns.to_str().unwrap());
        for text in bombs() {
            std::fs::write(&patterns, text).unwrap();
            refuses(&fixture.repo(), patterns.to_str().unwrap());
        }
        std::fs::write(&patterns, USUAL).unwrap();
        fixture.repo().require_ready().unwrap();
    }
}

#[test]
fn an_agents_stars_of_any_kind_are_bounded() {
    let name = format!("{}0", "a".repeat(60));
    for file in FILES {
        let fixture = hostile();
        let repo = fixture.repo();
        let worktree = fixture.worktree(&repo, "T1");
        for text in bombs() {
            write_files(worktree.path(), &[(file, &text), (&name, "2\n")]);
            let error = repo
                .store()
                .snapshot(&worktree, &SnapshotRules::default())
                .unwrap_err();
            assert!(
                matches!(&error, GitError::Unstorable { path, .. } if path == Path::new(file)),
                "{error}"
            );
        }
        write_files(worktree.path(), &[(file, USUAL)]);
        repo.store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap();
    }
}

#[test]
fn libgit2_never_ends_with_stars_that_are_refused_and_does_with_the_worst_that_are_not() {
    const FILE: &str = "ORCHESTRATE_TEST_PATTERNS";
    if let Some(folder) = std::env::var_os(FILE) {
        let repository = git2::Repository::open(folder).unwrap();
        let name = format!("{}0", "a".repeat(60));
        let flags = git2::AttrCheckFlags::FILE_THEN_INDEX;
        repository
            .get_attr(Path::new(&name), "text", flags)
            .unwrap();
        return;
    }
    for (stars, ends) in [(9, false), (4, true)] {
        let fixture = hostile();
        write_files(
            &fixture.project(),
            &[(".gitattributes", &format!("{}b text\n", "a*".repeat(stars)))],
        );
        assert_eq!(fixture.repo().require_ready().is_ok(), ends);
        let name = "store::patterns::libgit2_never_ends_with_stars_that_are_refused_and_does_with_the_worst_that_are_not";
        let mut itself = Command::new("sh");
        itself
            .args(["-c", "ulimit -t 1; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap());
        itself
            .args(["--exact", name])
            .env(FILE, fixture.project())
            .stdout(Stdio::null());
        let ended = itself.status().unwrap();
        assert_eq!(ended.code(), ends.then_some(0), "{stars} stars");
    }
}
