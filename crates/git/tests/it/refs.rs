//! Refs that another git holds: nothing is moved, and the lock is named.

use orchestrate_core::{RunId, TaskId};
use orchestrate_git::{CommitSpec, GitError};

use crate::support::{Fixture, commit_spec};

#[test]
fn a_locked_ref_is_named_and_moved_once_the_lock_is_gone() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let first = fixture.tip("HEAD");
    fixture.git(&["branch", "held"]);
    let second = fixture.commit_files(&[("a", "2\n")], "second");
    let repo = fixture.repo();
    let lock = fixture.project().join(".git/refs/heads/held.lock");
    std::fs::write(&lock, "").unwrap();
    match repo.advance("refs/heads/held", Some(&first), &second) {
        Err(GitError::Locked { path }) => assert_eq!(path, lock),
        other => panic!("{other:?}"),
    }
    assert_eq!(fixture.tip("held"), first);
    // The control: the same move goes through without the lock.
    std::fs::remove_file(&lock).unwrap();
    repo.advance("refs/heads/held", Some(&first), &second)
        .unwrap();
    assert_eq!(fixture.tip("held"), second);
}

/// Every id has a branch of its own, whatever git, a shell or a file system takes it for.
#[test]
fn each_id_has_a_branch_that_git_takes() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let (repo, tip, run) = (fixture.repo(), fixture.tip("HEAD"), RunId::from("r-test01"));
    let refused = [
        "a/b", "x.lock", "..", "a..b", ".a", "a.", "a b", "~1", "a:b", "a*", "?", "[", "\\",
        "a\u{7f}",
    ];
    let long = [
        "a".repeat(TaskId::MAX_BYTES),
        "\u{1f980}".repeat(TaskId::MAX_BYTES / 4),
    ];
    let others = [
        "a",
        "A",
        "-f",
        "@",
        "é",
        "a%2Fb",
        "%2E.",
        "$(touch x)",
        "|",
        &long[0],
        &long[1],
    ];
    for id in others.iter().chain(&refused) {
        repo.create_branch(&run.task_branch(&TaskId::from(*id)), &tip)
            .unwrap();
    }
    let branches = repo.refs_below("refs/heads/orchestrate/r-test01/").unwrap();
    assert_eq!(branches.len(), others.len() + refused.len());
    for branch in &branches {
        assert_eq!(fixture.tip(&branch.name), tip, "{}", branch.name);
    }
    // The control: git refuses these ids as they are, the first one because there is a branch `a`.
    repo.create_branch("orchestrate/r-plain1/a", &tip).unwrap();
    for id in refused {
        let plain = repo.create_branch(&format!("orchestrate/r-plain1/{id}"), &tip);
        assert!(plain.is_err(), "{id:?}");
    }
}

#[test]
fn a_message_is_stored_without_what_could_deceive() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let tree = repo.tree_of(&fixture.tip("HEAD")).unwrap();
    let message =
        "Done\u{0} \u{1b}[2Jwell\n\n\tIt is so.\nSigned-off-by: Somebody <s@example.invalid>\n\n"
            .to_owned();
    let commit = repo
        .commit(&CommitSpec {
            message,
            ..commit_spec(tree, &[])
        })
        .unwrap();
    let stored = fixture.git(&["log", "-1", "--format=%B", commit.as_str()]);
    let expected = "Done [2Jwell\n\n\tIt is so.\n> Signed-off-by: Somebody <s@example.invalid>\n\nOrchestrate-Task: T1";
    assert_eq!(stored.trim_end(), expected);
}
