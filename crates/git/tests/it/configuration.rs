//! Configuration that is behind a condition, that is the user's own, or that comes with the
//! repository.

use std::fs::File;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_git::{
    GitError, Merge, Move, Repo, RepositoryRefusal, SnapshotRules, WorktreeSpec,
};

use crate::support::{Fixture, command, read, write_files};

/// Ways to hide a configuration file from a program that does not know every condition that git
/// knows. `PROJECT` stands for the checkout.
const CONDITIONS: [&str; 6] = [
    "include.path",
    "includeIf.hasconfig:remote.*.url:https://example.invalid/**.path",
    "includeIf.gitdir:PROJECT/**.path",
    "includeIf.gitdir/i:PROJECT/**.path",
    "includeIf.onbranch:**.path",
    "worktree",
];

/// Creates a repository whose own configuration has settings behind a condition. Its files ask for
/// the filter `x`.
fn hiding(condition: &str, hidden: &str) -> Fixture {
    let fixture = Fixture::new(&[
        ("a", "1\n"),
        ("b", "1\n"),
        (".gitattributes", "* filter=x\n"),
    ]);
    fixture.git(&[
        "config",
        "remote.origin.url",
        "https://example.invalid/x.git",
    ]);
    let file = fixture.project().join(".git/hidden");
    if condition == "worktree" {
        fixture.git(&["config", "extensions.worktreeConfig", "true"]);
        write_files(&fixture.project(), &[(".git/config.worktree", hidden)]);
    } else {
        let condition = condition.replace("PROJECT", fixture.project().to_str().unwrap());
        fixture.git(&["config", &condition, file.to_str().unwrap()]);
        std::fs::write(&file, hidden).unwrap();
    }
    fixture
}

/// Runs every operation for which git is started.
fn everything(fixture: &Fixture, repo: &Repo) -> Result<(), GitError> {
    let base = fixture.tip("HEAD");
    let worktree = fixture.worktree(repo, "T1");
    write_files(worktree.path(), &[("a", "2\n")]);
    let ours = fixture.commit(repo, &worktree, &[&base]);
    let other = fixture.worktree(repo, "T2");
    write_files(other.path(), &[("a", "3\n"), ("b", "2\n")]);
    let theirs = fixture.commit(repo, &other, &[&base]);
    assert!(matches!(
        repo.merging().merge(&ours, &theirs)?,
        Merge::Conflict { .. }
    ));
    write_files(
        &fixture.project(),
        &[
            (".worktreeinclude", "*\n"),
            (".git/info/exclude", "ignored\n"),
            ("ignored", ""),
        ],
    );
    repo.worktrees().copy_included(&worktree)?;
    let verifier = repo.worktrees().add(&WorktreeSpec {
        branch: None,
        ..fixture.spec("verifier")
    })?;
    repo.worktrees().checkout_detached(&verifier, &ours)?;
    repo.worktrees().restart(&worktree, &ours, &ours)?;
    repo.store()
        .snapshot(&worktree, &SnapshotRules::default())?;
    let landing = Move {
        branch: "main".to_owned(),
        from: base,
        to: ours,
    };
    repo.landing().land(&landing)?;
    repo.landing().unland(&landing)
}

#[test]
fn no_condition_hides_a_program_from_us() {
    for condition in CONDITIONS {
        let fixture = hiding(condition, "");
        let file = match condition {
            "worktree" => fixture.project().join(".git/config.worktree"),
            _ => fixture.project().join(".git/hidden"),
        };
        let planted = fixture.planted();
        std::fs::write(
            file,
            format!("[filter \"x\"]\n\tsmudge = {}\n", planted.display()),
        )
        .unwrap();
        let repo = fixture.repo();
        match everything(&fixture, &repo) {
            Err(GitError::Refused {
                refusal: RepositoryRefusal::OwnFilter { path, filter, .. },
                ..
            }) => {
                assert_eq!(
                    (path, filter.as_str()),
                    (PathBuf::from(".gitattributes"), "x"),
                    "{condition}"
                );
            }
            other => panic!("{condition}: {other:?}"),
        }
        assert!(
            !fixture.canary().exists(),
            "{condition}: a program of the repository's ran"
        );
        // The control: git itself runs it.
        std::fs::remove_file(fixture.project().join("b")).unwrap();
        let control = command(&fixture.project(), &["checkout-index", "-f", "-a"])
            .output()
            .unwrap();
        assert!(
            control.status.success() && fixture.canary().exists(),
            "{condition}: git does not run it: {control:?}"
        );
    }
}

#[test]
fn no_condition_hides_a_filter_or_a_promise_from_us() {
    for condition in CONDITIONS {
        let fixture = hiding(condition, "[filter \"x\"]\n\tclean = cat\n");
        let refused = fixture.repo().require_ready().unwrap_err();
        let refused = matches!(
            refused,
            GitError::Refused {
                refusal: RepositoryRefusal::Filter { .. },
                ..
            }
        );
        assert!(refused, "{condition}: a filter was not seen");
        let fixture = hiding(condition, "[remote \"origin\"]\n\tpromisor = true\n");
        // Only of a partial clone is it known that something is missing.
        let tip = fixture.tip("HEAD");
        let lost = fixture.git(&["rev-parse", "HEAD^{tree}"]);
        let (two, rest) = lost.split_at(2);
        std::fs::remove_file(fixture.project().join(".git/objects").join(two).join(rest)).unwrap();
        assert_eq!(
            fixture.repo().lacking(&tip).unwrap(),
            [Oid::new(lost)],
            "{condition}: a promise was not seen"
        );
    }
}

/// Objects that a remote promises after the repository was opened are not fetched either.
#[test]
fn nothing_is_fetched() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let lost = fixture.git(&["rev-parse", "HEAD:a"]);
    let (two, rest) = lost.split_at(2);
    std::fs::remove_file(fixture.project().join(".git/objects").join(two).join(rest)).unwrap();
    let elsewhere = Fixture::new(&[]);
    fixture.git(&["config", "remote.origin.promisor", "true"]);
    fixture.git(&[
        "config",
        "remote.origin.url",
        elsewhere.project().to_str().unwrap(),
    ]);
    let program = format!("touch '{}'; false", fixture.canary().display());
    fixture.git(&["config", "remote.origin.uploadpack", &program]);
    repo.worktrees().add(&fixture.spec("T1")).unwrap_err();
    assert!(!fixture.canary().exists());
    // The control: git itself asks for it.
    command(&fixture.project(), &["cat-file", "blob", &lost])
        .output()
        .unwrap();
    assert!(
        fixture.canary().exists(),
        "the attack does not work on git itself"
    );
}

/// A filter in the user's own configuration is the user's decision, so it runs.
#[test]
fn the_users_own_filter_writes_his_checkout() {
    let fixture = Fixture::new(&[("a", "1\n"), (".gitattributes", "a filter=mine\n")]);
    fixture.configure("filter.mine.smudge", "sed s/2/two/");
    let base = fixture.tip("HEAD");
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("a", "2\n")]);
    let new = fixture.commit(&repo, &worktree, &[&base]);
    repo.landing()
        .land(&Move {
            branch: "main".to_owned(),
            from: base,
            to: new,
        })
        .unwrap();
    assert_eq!(read(fixture.project().join("a")), "two\n");
}

/// Creates two commits on one base that change the same line, with attributes that may ask for a
/// merge driver.
fn two_sides(fixture: &Fixture, attributes: &str) -> [orchestrate_core::Oid; 2] {
    let base = fixture.commit_files(&[("a", "1\n"), (".gitattributes", attributes)], "base");
    let one = fixture.commit_files(&[("a", "one\n")], "one");
    fixture.git(&["reset", "-q", "--hard", base.as_str()]);
    let two = fixture.commit_files(&[("a", "two\n")], "two");
    [one, two]
}

#[test]
fn a_merge_knows_no_driver_and_no_attributes_but_the_targets() {
    let fixture = Fixture::new(&[]);
    let [one, two] = two_sides(&fixture, "a merge=mine\n");
    fixture.configure(
        "merge.mine.driver",
        &format!("'{}'; true", fixture.planted().display()),
    );
    let is_conflict =
        |merged: Result<Merge, GitError>| matches!(merged, Ok(Merge::Conflict { .. }));
    assert!(
        is_conflict(fixture.repo().merging().merge(&one, &two)),
        "a driver lost an edit"
    );
    assert!(!fixture.canary().exists());
    let [one, two] = two_sides(&fixture, "");
    let attributes = fixture.path().join("attributes");
    std::fs::write(&attributes, "* merge=union\n").unwrap();
    fixture.configure("core.attributesFile", attributes.to_str().unwrap());
    assert!(
        is_conflict(fixture.repo().merging().merge(&one, &two)),
        "the user's attributes"
    );
    write_files(
        &fixture.project(),
        &[(".git/info/attributes", "* merge=union\n")],
    );
    assert!(
        is_conflict(fixture.repo().merging().merge(&one, &two)),
        "the repository's own attributes"
    );
    fixture.git(&["config", "merge.default", "union"]);
    fixture.configure("merge.default", "union");
    assert!(
        is_conflict(fixture.repo().merging().merge(&one, &two)),
        "the default driver"
    );
    // The control: git itself merges this without a conflict.
    let control = command(
        &fixture.project(),
        &["merge-tree", "--write-tree", one.as_str(), two.as_str()],
    )
    .output();
    assert!(control.unwrap().status.success());
}

/// Locks each file and folder below a folder, as any process that can open them could. The folder
/// itself is left out: processes of this user wait for each other on the repository's own
/// directory, and a confined one cannot open it.
fn lock_all(folder: &Path, locked: &mut Vec<File>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            lock_all(&path, locked);
        }
        let file = File::open(&path).unwrap();
        file.lock().unwrap();
        locked.push(file);
    }
}

#[test]
fn whoever_locks_what_is_in_the_repository_holds_nobody_up() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    // The lock file of an earlier version.
    std::fs::write(repo.common_dir().join("orchestrate.lock"), "").unwrap();
    let worktree = fixture.worktree(&repo, "T1");
    let mut locked = Vec::new();
    lock_all(&fixture.project().join(".git"), &mut locked);
    lock_all(worktree.path(), &mut locked);
    fixture.worktree(&repo, "T2");
    repo.worktrees().reconcile(&|_| true).unwrap();
    repo.landing().put_back_half_written().unwrap();
    assert!(!locked.is_empty());
}

/// A note of a half-done landing that came with a repository could name any folder.
#[test]
fn a_note_that_comes_with_the_repository_is_no_note() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    for name in ["orchestrate-switch", "switch"] {
        std::fs::write(repo.common_dir().join(name), "never read").unwrap();
    }
    repo.landing().put_back_half_written().unwrap();
    assert!(repo.common_dir().join("orchestrate-switch").exists());
}
