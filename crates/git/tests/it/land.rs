//! Landing: the one step that moves a branch of the user's.

use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_git::{GitError, Merge, Move, Repo};

use crate::support::{Fixture, command, commit_spec, git_in, read, write_files, write_program};

/// Creates a repository, and a commit on top of main that changes `a` and adds `new`.
pub(crate) fn prepared() -> (Fixture, Repo, Move) {
    let files = [
        ("a", "1\n"),
        ("b", "1\n"),
        ("c", "1\n"),
        (".gitignore", "ignored\n"),
    ];
    let fixture = Fixture::new(&files);
    let base = fixture.tip("HEAD");
    fixture.git(&["switch", "-q", "-c", "work"]);
    let new = fixture.commit_files(&[("a", "2\n"), ("new", "2\n")], "work");
    fixture.git(&["switch", "-q", "main"]);
    let repo = fixture.repo();
    let landing = Move {
        branch: "main".to_owned(),
        from: base,
        to: new,
    };
    (fixture, repo, landing)
}

/// Makes staged, unstaged, untracked and ignored changes and a stash, none of which overlap.
fn busy_user(fixture: &Fixture) {
    write_files(&fixture.project(), &[("c", "stashed\n")]);
    fixture.git(&["stash", "-q"]);
    write_files(&fixture.project(), &[("b", "staged\n")]);
    fixture.git(&["add", "b"]);
    write_files(
        &fixture.project(),
        &[
            ("c", "unstaged\n"),
            ("untracked", "u\n"),
            ("ignored", "i\n"),
        ],
    );
}

#[test]
fn landing_and_undoing_keep_the_users_changes() {
    let (fixture, repo, landing) = prepared();
    busy_user(&fixture);
    // A file that is only meant to be added, and an edit that git was told not to look at.
    write_files(
        &fixture.project(),
        &[("intended", "i\n"), (".gitignore", "ignored\n# hidden\n")],
    );
    fixture.git(&["add", "--intent-to-add", "intended"]);
    fixture.git(&["update-index", "--skip-worktree", ".gitignore"]);
    let status = fixture.git(&["status", "--porcelain", "--ignored"]);
    let landed = repo.landing().land(&landing).unwrap();
    assert_eq!(landed, Some(fixture.project()));
    assert_eq!(fixture.tip("main"), landing.to);
    assert_eq!(read(fixture.project().join("new")), "2\n");
    assert_eq!(fixture.git(&["status", "--porcelain", "--ignored"]), status);
    assert_eq!(fixture.git(&["stash", "list"]).lines().count(), 1);
    assert_eq!(repo.landing().land(&landing).unwrap(), landed);
    repo.landing().unland(&landing).unwrap();
    repo.landing().unland(&landing).unwrap();
    assert_eq!(fixture.tip("main"), landing.from);
    assert_eq!(fixture.git(&["status", "--porcelain", "--ignored"]), status);
    assert!(!fixture.project().join("new").exists());
    let hidden = read(fixture.project().join(".gitignore"));
    assert_eq!(
        (
            hidden.as_str(),
            fixture.git(&["ls-files", "-v", ".gitignore"]).as_str()
        ),
        ("ignored\n# hidden\n", "S .gitignore")
    );
    // The control: the same commit checked out by force takes the user's changes away, and the
    // status tells it.
    fixture.git(&["reset", "-q", "--hard", landing.to.as_str()]);
    assert_ne!(fixture.git(&["status", "--porcelain", "--ignored"]), status);
}

#[test]
fn overlapping_changes_are_named_and_nothing_happens() {
    for overlapping in ["a", "new", "ignored"] {
        let (fixture, repo, mut landing) = prepared();
        fixture.git(&["switch", "-q", "work"]);
        write_files(&fixture.project(), &[("ignored", "theirs\n")]);
        fixture.git(&["add", "-f", "ignored"]);
        landing.to = fixture.commit_files(&[], "more");
        fixture.git(&["switch", "-q", "main"]);
        write_files(&fixture.project(), &[(overlapping, "mine\n")]);
        let before = fixture.users_state();
        match repo.landing().land(&landing) {
            Err(GitError::LocalChanges { branch, paths }) => {
                assert_eq!(
                    (branch.as_str(), paths),
                    ("main", vec![PathBuf::from(overlapping)])
                );
            }
            other => panic!("{overlapping}: {other:?}"),
        }
        assert!(
            fixture.users_state() == before,
            "{overlapping}: something of the user's changed"
        );
    }
}

/// Configures the user's filter `full` to fail on checkout, or to change nothing.
pub(crate) fn fail_at(fixture: &Fixture, fails: bool) {
    let filter = if fails { "false" } else { "cat" };
    fixture.configure("filter.full.clean", "cat");
    fixture.configure("filter.full.smudge", filter);
    fixture.configure("filter.full.required", "true");
}

/// Creates a repository, and a commit on top of main that adds, changes and removes files. The two
/// commits have these attributes.
fn prepared_to_fail(attributes: [&str; 2]) -> (Fixture, Repo, Move) {
    let same = ["a", "b", "c", "gone", "late"].map(|name| (name, "1\n"));
    let files = [
        &same[..],
        &[
            (".gitattributes", attributes[0]),
            (".gitignore", "ignored\n"),
        ],
    ]
    .concat();
    let fixture = Fixture::new(&files);
    let base = fixture.tip("HEAD");
    fixture.git(&["switch", "-q", "-c", "work"]);
    fixture.git(&["rm", "-q", "gone"]);
    let changed = [
        ("a", "2\n"),
        ("folder/early", "2\n"),
        ("late", "2\n"),
        ("new", "2\n"),
        (".gitattributes", attributes[1]),
    ];
    let new = fixture.commit_files(&changed, "work");
    fixture.git(&["switch", "-q", "main"]);
    let repo = fixture.repo();
    let landing = Move {
        branch: "main".to_owned(),
        from: base,
        to: new,
    };
    (fixture, repo, landing)
}

#[test]
fn what_git_could_not_write_is_put_back() {
    let (fixture, repo, landing) = prepared_to_fail(["", "new filter=full\n"]);
    fail_at(&fixture, true);
    busy_user(&fixture);
    let (files, before) = (files_and_status(&fixture), fixture.users_state());
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(matches!(error, GitError::NotWritten { .. }), "{error}");
    assert!(
        fixture.users_state() == before,
        "something of the user's changed"
    );
    // By then the index may record when the files were written again.
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(matches!(error, GitError::NotWritten { .. }), "{error}");
    assert_eq!(files_and_status(&fixture), files);
    fail_at(&fixture, false);
    repo.landing().land(&landing).unwrap();
    assert_eq!(fixture.tip("main"), landing.to);
}

#[test]
fn what_is_refused_puts_nothing_of_the_users_back() {
    for emptied in [true, false] {
        let (fixture, repo, landing) = prepared_to_fail(["", ""]);
        // In both cases the file looks as if git had begun to write it.
        let late = fixture.project().join("late");
        if emptied {
            std::fs::write(&late, "").unwrap()
        } else {
            std::fs::remove_file(&late).unwrap()
        }
        write_files(&fixture.project(), &[("a", "mine\n")]);
        let before = fixture.users_state();
        let error = repo.landing().land(&landing).unwrap_err();
        assert!(matches!(error, GitError::LocalChanges { .. }), "{error}");
        assert!(fixture.users_state() == before, "emptied: {emptied}");
    }
}

/// Covers modes, folders in place of files, and files that the user had deleted or hidden from git.
#[test]
fn all_that_git_has_written_is_put_back() {
    let same = ["a", "b", "c", "d", "mode", "deleted", "hidden"].map(|name| (name, "1\n"));
    let files = [&same[..], &[(".gitignore", "ignored\n"), ("link", "1\n")]].concat();
    let fixture = Fixture::new(&files);
    let base = fixture.tip("HEAD");
    fixture.git(&["switch", "-q", "-c", "work"]);
    fixture.git(&["rm", "-q", "d", "link"]);
    fixture.git(&["update-index", "--chmod=+x", "mode"]);
    std::os::unix::fs::symlink("a", fixture.project().join("link")).unwrap();
    let changed = [
        ("d/x", "2\n"),
        ("deleted", "2\n"),
        ("empty/x", "2\n"),
        ("zzz", "2\n"),
        (".gitattributes", "zzz filter=full\n"),
    ];
    fixture.git(&["checkout-index", "--force", "mode"]);
    let new = fixture.commit_files(&changed, "work");
    fixture.git(&["switch", "-q", "main"]);
    fail_at(&fixture, true);
    busy_user(&fixture);
    std::fs::remove_file(fixture.project().join("deleted")).unwrap();
    fixture.git(&["update-index", "--skip-worktree", "hidden"]);
    write_files(&fixture.project(), &[("hidden", "")]);
    let repo = fixture.repo();
    let landing = Move {
        branch: "main".to_owned(),
        from: base,
        to: new,
    };
    let before = (files_and_status(&fixture), modes(&fixture));
    for _ in 0..2 {
        let error = repo.landing().land(&landing).unwrap_err();
        assert!(matches!(error, GitError::NotWritten { .. }), "{error}");
        assert_eq!((files_and_status(&fixture), modes(&fixture)), before);
    }
    fail_at(&fixture, false);
    repo.landing().land(&landing).unwrap();
    assert_eq!(read(fixture.project().join("d/x")), "2\n");
}

/// Returns which of the user's files are executable.
fn modes(fixture: &Fixture) -> Vec<(PathBuf, bool)> {
    use std::os::unix::fs::PermissionsExt;
    let (files, _) = files_and_status(fixture);
    let mode = |path: &PathBuf| {
        std::fs::symlink_metadata(path)
            .unwrap()
            .permissions()
            .mode()
            & 0o100
            != 0
    };
    files
        .into_iter()
        .map(|(path, _)| (path.clone(), mode(&path)))
        .collect()
}

/// A file that git was told not to watch obstructs a landing, whatever it contains.
#[test]
fn hidden_files_are_neither_put_back_nor_in_the_way_of_later_landings() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        for content in ["2\n", ""] {
            let (fixture, repo, landing) = prepared();
            fixture.git(&["update-index", flag, "a"]);
            write_files(&fixture.project(), &[("a", content)]);
            let before = fixture.users_state();
            let error = repo.landing().land(&landing).unwrap_err();
            assert!(
                matches!(error, GitError::LocalChanges { .. }),
                "{flag} {content:?}: {error}"
            );
            assert!(fixture.users_state() == before, "{flag} {content:?}");
            let no = flag.replace("--", "--no-");
            fixture.git(&["update-index", &no, "a"]);
            fixture.git(&["checkout", "-q", "a"]);
            repo.landing().land(&landing).unwrap();
        }
    }
}

/// The hidden file was edited in the same second as the index, with the same size. Git can detect
/// this only by the content, and refreshing the index would make git forget to check it.
#[test]
fn a_hidden_edit_of_the_same_second_is_kept() {
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let set_time = |path: &Path| {
        std::fs::File::open(path)
            .unwrap()
            .set_modified(long_ago)
            .unwrap()
    };
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let (fixture, repo, landing) = prepared();
        fixture.git(&["config", "core.trustctime", "false"]);
        let file = fixture.project().join("a");
        let index = fixture.project().join(".git/index");
        set_time(&file);
        fixture.git(&["update-index", "--refresh"]);
        fixture.git(&["update-index", flag, "a"]);
        std::fs::write(&file, "3\n").unwrap();
        set_time(&file);
        // Another file that git has to check again, so that it rewrites the index.
        write_files(&fixture.project(), &[("b", "1\n")]);
        set_time(&index);
        let error = repo.landing().land(&landing).unwrap_err();
        assert!(
            matches!(error, GitError::LocalChanges { .. }),
            "{flag}: {error}"
        );
        assert_eq!(read(&file), "3\n", "{flag}");
    }
}

/// Returns the user's files and the output of `git status`.
pub(crate) fn files_and_status(fixture: &Fixture) -> (Vec<(PathBuf, Vec<u8>)>, String) {
    let files = fixture
        .users_state()
        .into_iter()
        .filter(|(path, _)| !path.starts_with(fixture.project().join(".git")));
    (
        files.collect(),
        fixture.git(&["status", "--porcelain", "--ignored"]),
    )
}

#[test]
fn what_could_not_even_be_put_back_is_by_the_next() {
    let (fixture, repo, landing) = prepared_to_fail(["late filter=full\n"; 2]);
    fail_at(&fixture, false);
    busy_user(&fixture);
    let before = files_and_status(&fixture);
    fail_at(&fixture, true);
    for _ in 0..2 {
        let error = repo.landing().land(&landing).unwrap_err();
        assert!(matches!(error, GitError::HalfWritten { .. }), "{error}");
        assert_eq!(fixture.tip("main"), landing.from);
    }
    fail_at(&fixture, false);
    repo.landing().land(&landing).unwrap();
    assert_eq!(
        (fixture.tip("main"), &files_and_status(&fixture).1),
        (landing.to.clone(), &before.1)
    );
    fail_at(&fixture, true);
    assert!(matches!(
        repo.landing().unland(&landing),
        Err(GitError::HalfWritten { .. })
    ));
    fail_at(&fixture, false);
    repo.landing().unland(&landing).unwrap();
    assert_eq!(
        (fixture.tip("main"), files_and_status(&fixture)),
        (landing.from, before)
    );
}

#[test]
fn files_in_conflict_are_named_whether_they_overlap_or_not() {
    for changed in ["a", "c"] {
        let fixture = Fixture::new(&[("a", "1\n"), ("c", "1\n")]);
        write_files(&fixture.project(), &[("c", "stashed\n")]);
        fixture.git(&["stash", "-q"]);
        let base = fixture.commit_files(&[("c", "committed\n")], "mine");
        fixture.git(&["switch", "-q", "-c", "work"]);
        let new = fixture.commit_files(&[(changed, "2\n")], "work");
        fixture.git(&["switch", "-q", "main"]);
        assert!(
            !command(&fixture.project(), &["stash", "pop", "-q"])
                .output()
                .unwrap()
                .status
                .success()
        );
        let (repo, before) = (fixture.repo(), fixture.users_state());
        let landing = Move {
            branch: "main".to_owned(),
            from: base,
            to: new,
        };
        match repo.landing().land(&landing) {
            Err(GitError::InConflict { paths, .. }) => assert_eq!(paths, [PathBuf::from("c")]),
            other => panic!("{changed}: {other:?}"),
        }
        assert!(
            fixture.users_state() == before,
            "{changed}: something of the user's changed"
        );
    }
}

/// Returns what obstructs a landing that creates `folder/file`, and asserts that nothing has
/// changed.
fn in_the_way(of_user: impl Fn(&Fixture)) -> Vec<PathBuf> {
    let (fixture, repo, mut landing) = prepared();
    fixture.git(&["switch", "-q", "work"]);
    landing.to = fixture.commit_files(&[("folder/file", "theirs\n")], "more");
    fixture.git(&["switch", "-q", "main"]);
    of_user(&fixture);
    let before = fixture.users_state();
    let Err(GitError::LocalChanges { paths, .. }) = repo.landing().land(&landing) else {
        panic!("it landed")
    };
    assert!(
        fixture.users_state() == before,
        "something of the user's changed"
    );
    paths
}

#[test]
fn what_stands_where_a_folder_has_to_be_is_kept() {
    let exclude = |fixture: &Fixture| {
        std::fs::write(fixture.project().join(".git/info/exclude"), "/folder\n").unwrap();
    };
    let file: fn(&Fixture) = |fixture| write_files(&fixture.project(), &[("folder", "mine\n")]);
    let link: fn(&Fixture) =
        |fixture| std::os::unix::fs::symlink("/", fixture.project().join("folder")).unwrap();
    let expected = [PathBuf::from("folder")];
    assert_eq!(in_the_way(file), expected);
    assert_eq!(in_the_way(link), expected);
    for stand in [file, link] {
        let ignored = in_the_way(|fixture| {
            exclude(fixture);
            stand(fixture);
        });
        assert_eq!(ignored, expected);
    }
}

#[test]
fn changes_that_git_was_told_not_to_look_at_are_kept() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let paths = in_the_way(|fixture| {
            fixture.git(&["update-index", flag, "a"]);
            write_files(&fixture.project(), &[("a", "mine\n")]);
        });
        assert_eq!(paths, [PathBuf::from("a")], "{flag}");
    }
}

#[test]
fn a_git_directory_elsewhere_is_not_taken_for_the_checkout() {
    let (fixture, _, landing) = prepared();
    let apart = fixture.path().join("apart/git");
    let linked = fixture.path().join("linked");
    std::fs::create_dir_all(apart.parent().unwrap()).unwrap();
    fixture.git(&["init", "-q", "--separate-git-dir", apart.to_str().unwrap()]);
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        linked.to_str().unwrap(),
        "-b",
        "elsewhere",
    ]);
    std::fs::write(fixture.project().join("new"), "mine\n").unwrap();
    let error = fixture.repo().landing().land(&landing).unwrap_err();
    assert!(
        matches!(&error, GitError::LocalChanges { paths, .. } if *paths == [PathBuf::from("new")]),
        "{error}"
    );
    let error = fixture
        .open(&linked)
        .unwrap()
        .landing()
        .land(&landing)
        .unwrap_err();
    assert!(
        matches!(&error, GitError::UnknownCheckout { git_dir, .. } if *git_dir == apart),
        "{error}"
    );
    std::fs::remove_file(fixture.project().join("new")).unwrap();
    assert!(fixture.repo().warnings().unwrap().is_empty());
    assert_eq!(
        fixture.repo().landing().land(&landing).unwrap(),
        Some(fixture.project())
    );
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_bare_repository_beside_worktrees_is_no_checkout() {
    let (fixture, _, landing) = prepared();
    let (bare, linked) = (fixture.path().join("bare"), fixture.path().join("linked"));
    fixture.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    git_in(
        &bare,
        &["worktree", "add", "-q", linked.to_str().unwrap(), "main"],
    );
    let repo = fixture.open(&linked).unwrap();
    assert_eq!(repo.landing().land(&landing).unwrap(), Some(linked));
}

#[test]
fn overlapping_changes_stop_an_undo() {
    let (fixture, repo, landing) = prepared();
    repo.landing().land(&landing).unwrap();
    write_files(&fixture.project(), &[("a", "mine\n")]);
    let before = fixture.users_state();
    match repo.landing().unland(&landing) {
        Err(GitError::LocalChanges { paths, .. }) => assert_eq!(paths, [PathBuf::from("a")]),
        other => panic!("{other:?}"),
    }
    assert_eq!(fixture.users_state(), before);
}

#[test]
fn a_branch_that_is_checked_out_nowhere_is_moved() {
    let (fixture, repo, landing) = prepared();
    fixture.git(&["switch", "-q", "-c", "elsewhere"]);
    busy_user(&fixture);
    let index = || std::fs::read(fixture.project().join(".git/index")).unwrap();
    let before = index();
    let landed = repo.landing().land(&landing).unwrap();
    assert_eq!(
        (landed, repo.branch_tip("main").unwrap()),
        (None, landing.to.clone())
    );
    repo.landing().unland(&landing).unwrap();
    assert_eq!(repo.branch_tip("main").unwrap(), landing.from);
    assert_eq!(index(), before);
}

#[test]
fn a_linked_checkout_of_the_user_is_moved_too() {
    let (fixture, repo, landing) = prepared();
    fixture.git(&["switch", "-q", "-c", "elsewhere"]);
    let linked = fixture.path().join("linked");
    fixture.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    assert_eq!(repo.landing().land(&landing).unwrap(), Some(linked.clone()));
    assert_eq!(read(linked.join("a")), "2\n");
}

#[test]
fn what_cannot_be_landed_is_refused_with_its_reason() {
    let (fixture, repo, landing) = prepared();
    let absent = Move {
        branch: "absent".to_owned(),
        ..landing.clone()
    };
    assert!(matches!(
        repo.landing().land(&absent),
        Err(GitError::BranchGone { .. })
    ));

    let moved = fixture.commit_files(&[("b", "2\n")], "users");
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(
        matches!(&error, GitError::RefMoved { actual: Some(actual), .. } if *actual == moved),
        "{error}"
    );
    let diverged = Move {
        from: moved,
        ..landing.clone()
    };
    assert!(matches!(
        repo.landing().land(&diverged),
        Err(GitError::NotFastForward { .. })
    ));

    let rewritten = Oid::new(fixture.git(&["commit-tree", "-m", "other root", "main^{tree}"]));
    fixture.git(&["reset", "-q", "--hard", rewritten.as_str()]);
    let lost = Move {
        from: rewritten,
        ..landing
    };
    assert!(matches!(
        repo.landing().land(&lost),
        Err(GitError::NotFastForward { .. })
    ));
}

#[test]
fn a_prepared_merge_commit_lands_on_a_branch_that_moved() {
    let (fixture, repo, landing) = prepared();
    let moved = fixture.commit_files(&[("b", "2\n")], "users");
    let merge = repo.merging().merge(&moved, &landing.to).unwrap();
    let Merge::Clean { tree } = merge else {
        panic!("{merge:?}")
    };
    let commit = repo
        .commit(&commit_spec(tree, &[&moved, &landing.to]))
        .unwrap();
    let landing = Move {
        from: moved,
        to: commit.clone(),
        ..landing
    };
    repo.landing().land(&landing).unwrap();
    assert_eq!(fixture.tip("main"), commit);
    fixture.commit_files(&[("c", "2\n")], "later");
    assert!(matches!(
        repo.landing().unland(&landing),
        Err(GitError::RefMoved { .. })
    ));
}

#[test]
fn a_rebase_in_progress_is_left_alone() {
    let (fixture, repo, landing) = prepared();
    let mut rebase = command(&fixture.project(), &["rebase", "-q", "-i", "--root"]);
    rebase
        .env("GIT_SEQUENCE_EDITOR", "sed -i 1s/pick/edit/")
        .output()
        .unwrap();
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(matches!(error, GitError::Refused { .. }), "{error}");
}

/// The user's filter prevents the branch from being moved the first time, and fails the second
/// time.
#[test]
fn files_that_cannot_go_back_are_told() {
    let (fixture, repo, landing) = prepared();
    let lock = fixture.project().join(".git/refs/heads/main.lock");
    let program = fixture.path().join("smudge");
    let text = format!(
        "#!/bin/sh\n[ ! -e '{0}' ] || exit 1\n: > '{0}'\ncat\n",
        lock.display()
    );
    write_program(&program, &text);
    write_files(
        &fixture.project(),
        &[(".git/info/attributes", "a filter=mine\n")],
    );
    fixture.configure("filter.mine.smudge", program.to_str().unwrap());
    fixture.configure("filter.mine.clean", "cat");
    fixture.configure("filter.mine.required", "true");
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(
        matches!(&error, GitError::FilesAhead { unmoved, .. } if matches!(**unmoved, GitError::Locked { .. })),
        "{error}"
    );
    std::fs::remove_file(lock).unwrap();
    assert_eq!(fixture.tip("main"), landing.from);
}

#[test]
fn what_the_user_has_taken_back_by_hand_stays_so() {
    let (fixture, repo, landing) = prepared();
    repo.landing().land(&landing).unwrap();
    assert_eq!(repo.landing().taken_back_in(&landing).unwrap(), None);
    fixture.git(&["read-tree", "-m", "-u", landing.from.as_str()]);
    let before = fixture.users_state();
    assert_eq!(
        repo.landing().land(&landing).unwrap(),
        Some(fixture.project())
    );
    assert!(
        fixture.users_state() == before,
        "something of the user's changed"
    );
    assert_eq!(
        repo.landing().taken_back_in(&landing).unwrap(),
        Some(fixture.project())
    );
    fixture.git(&["reset", "-q", "--hard"]);
    repo.landing().unland(&landing).unwrap();
    assert_eq!(repo.landing().taken_back_in(&landing).unwrap(), None);
}

/// The branch cannot be moved back, nor the files forward again: the state is that after a kill
/// between the two.
#[test]
fn an_undo_that_stopped_half_way_is_taken_back_by_a_landing() {
    let (fixture, repo, landing) = prepared();
    repo.landing().land(&landing).unwrap();
    let before = files_and_status(&fixture);
    let lock = fixture.project().join(".git/refs/heads/main.lock");
    write_files(
        &fixture.project(),
        &[(".git/info/attributes", "a filter=mine\n")],
    );
    fixture.configure(
        "filter.mine.smudge",
        &format!("[ ! -e '{0}' ] || exit 1; : > '{0}'; cat", lock.display()),
    );
    fixture.configure("filter.mine.clean", "cat");
    fixture.configure("filter.mine.required", "true");
    let error = fixture.repo().landing().unland(&landing).unwrap_err();
    assert!(matches!(error, GitError::FilesAhead { .. }), "{error}");
    std::fs::remove_file(lock).unwrap();
    assert_ne!(files_and_status(&fixture), before);
    fixture.configure("filter.mine.smudge", "cat");
    fixture.repo().landing().land(&landing).unwrap();
    assert_eq!(
        (fixture.tip("main"), files_and_status(&fixture)),
        (landing.to, before)
    );
}

/// This is the state after a kill before the branch is moved, if the branch is then moved by
/// someone else, or the user commits the files.
#[test]
fn files_of_a_landing_go_back_unless_they_were_committed() {
    for is_committed in [false, true] {
        let (fixture, repo, landing) = prepared();
        busy_user(&fixture);
        let files = files_and_status(&fixture).0;
        let elsewhere = fixture.git(&[
            "commit-tree",
            "-p",
            "main",
            "-m",
            "elsewhere",
            "main^{tree}",
        ]);
        repo.landing().land(&landing).unwrap();
        fixture.git(&["update-ref", "refs/heads/main", landing.from.as_str()]);
        if is_committed {
            fixture.git(&["commit", "-q", "-m", "mine", "--", "a"]);
        } else {
            fixture.git(&["update-ref", "refs/heads/main", &elsewhere]);
        }
        let landed_files = files_and_status(&fixture).0;
        repo.landing().take_back_files(&landing).unwrap();
        let expected = if is_committed { landed_files } else { files };
        assert!(
            files_and_status(&fixture).0 == expected,
            "committed: {is_committed}"
        );
    }
}
