//! Refs that another git holds: nothing is moved, and the lock is named.

use orchestrate_git::GitError;

use crate::support::Fixture;

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
    std::fs::remove_file(&lock).unwrap();
    repo.advance("refs/heads/held", Some(&first), &second).unwrap();
    assert_eq!(fixture.tip("held"), second);
}
