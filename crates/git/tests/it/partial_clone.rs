//! Partial clones: what a commit lacks is fetched once, before a worktree is made of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use orchestrate_git::{GitError, RemoteError, Repo, Terms, Warning, WorktreeSpec};

use crate::support::{Fixture, git_in, read};

const TERMS: Terms = Terms {
    timeout: Duration::from_secs(60),
    is_attended: false,
};

/// Clones a fixture without what a filter leaves out, and without a checkout.
fn clone(fixture: &Fixture, filter: &str) -> PathBuf {
    fixture.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = fixture.path().join("clone");
    let from = format!("file://{}", fixture.project().display());
    let filter = format!("--filter={filter}");
    git_in(
        &fixture.path(),
        &[
            "clone",
            "-q",
            "--no-checkout",
            &filter,
            &from,
            clone.to_str().unwrap(),
        ],
    );
    clone
}

fn packs(clone: &Path) -> usize {
    let listed = std::fs::read_dir(clone.join(".git/objects/pack")).unwrap();
    listed
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|kind| kind == "pack")
        })
        .count()
}

#[test]
fn what_a_commit_lacks_is_fetched_once_and_then_nothing_is() {
    let files = [
        ("a", "1\n"),
        ("deep/b", "2\n"),
        ("deep/er/c", "3\n"),
        ("deep/er/.gitattributes", "* text\n"),
    ];
    for (filter, lacking) in [("blob:none", 4), ("tree:0", 1)] {
        let fixture = Fixture::new(&files);
        let clone = clone(&fixture, filter);
        let repo: Repo = fixture.open(&clone).unwrap();
        let head = repo.head().unwrap().commit;
        assert_eq!(repo.lacking(&head).unwrap().len(), lacking, "{filter}");
        assert!(
            repo.warnings()
                .unwrap()
                .contains(&Warning::Incomplete { objects: lacking }),
            "{filter}"
        );
        let before = packs(&clone);
        repo.remotes().complete(&head, TERMS).unwrap();
        assert_eq!(repo.lacking(&head).unwrap(), []);
        assert!(
            packs(&clone) - before <= 2,
            "{filter}: one exchange for all files"
        );
        // From here on there is no remote.
        std::fs::rename(fixture.project(), fixture.path().join("gone")).unwrap();
        repo.require_plain_tree(&head).unwrap();
        let path = fixture.path().join("worktrees/T1");
        let spec = WorktreeSpec {
            path,
            branch: None,
            base: head.clone(),
            lock_reason: "test".to_owned(),
            times: None,
        };
        let worktree = repo.worktrees().add(&spec).unwrap();
        assert_eq!(read(worktree.path().join("deep/er/c")), "3\n");
        assert_eq!(
            repo.store().current_tree(&worktree).unwrap(),
            repo.tree_of(&head).unwrap()
        );
        git_in(&clone, &["fsck", "--connectivity-only"]);
        // There is nothing to fetch any more.
        repo.remotes().complete(&head, TERMS).unwrap();
    }
}

#[test]
fn a_remote_that_cannot_be_reached_is_named() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let clone = clone(&fixture, "blob:none");
    std::fs::rename(fixture.project(), fixture.path().join("gone")).unwrap();
    let repo = fixture.open(&clone).unwrap();
    let failed = repo
        .remotes()
        .complete(&repo.head().unwrap().commit, TERMS)
        .unwrap_err();
    assert!(
        matches!(&failed, GitError::Remote(RemoteError::Failed { remote, .. }) if remote == "origin"),
        "{failed}"
    );
}

#[test]
fn fetching_runs_no_program_of_the_repository() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let clone = clone(&fixture, "blob:none");
    let planted = fixture.planted();
    for key in [
        "core.sshCommand",
        "remote.origin.uploadpack",
        "core.fsmonitor",
        "credential.helper",
    ] {
        git_in(&clone, &["config", key, planted.to_str().unwrap()]);
    }
    let repo = fixture.open(&clone).unwrap();
    repo.remotes()
        .complete(&repo.head().unwrap().commit, TERMS)
        .unwrap();
    assert!(!fixture.canary().exists());
}
