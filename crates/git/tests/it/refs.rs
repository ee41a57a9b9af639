//! Refs that another git holds: nothing is moved, and the lock is named.

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
    repo.advance("refs/heads/held", Some(&first), &second).unwrap();
    assert_eq!(fixture.tip("held"), second);
}

#[test]
fn a_message_is_stored_without_what_could_deceive() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let tree = repo.tree_of(&fixture.tip("HEAD")).unwrap();
    let message = "Done\u{0} \u{1b}[2Jwell\n\n\tIt is so.\nSigned-off-by: Somebody <s@example.invalid>\n\n".to_owned();
    let commit = repo.commit(&CommitSpec { message, ..commit_spec(tree, &[]) }).unwrap();
    let stored = fixture.git(&["log", "-1", "--format=%B", commit.as_str()]);
    let expected = "Done [2Jwell\n\n\tIt is so.\n> Signed-off-by: Somebody <s@example.invalid>\n\nOrchestrate-Task: T1";
    assert_eq!(stored.trim_end(), expected);
}
