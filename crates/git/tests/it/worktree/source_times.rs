//! The times of a project's files in worktrees: those of the user's own files where the content is
//! the same.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use orchestrate_git::{Repo, Worktree, WorktreeSpec};

use crate::support::{Fixture, git_in, read, write_files};

/// A time with a fraction of a second, long before the test.
const OLD: &str = "2020-02-02 10:20:30.123456789";
/// Another one.
const OLDER: &str = "2019-01-01 00:00:00.5";

fn touch(path: &Path, time: &str) {
    let done = Command::new("touch")
        .args(["-h", "-d", time])
        .arg(path)
        .status()
        .unwrap();
    assert!(done.success());
}

fn time(path: impl AsRef<Path>) -> (i64, i64) {
    let found = path.as_ref().symlink_metadata().unwrap();
    (found.mtime(), found.mtime_nsec())
}

fn worktree(fixture: &Fixture, repo: &Repo, name: &str) -> Worktree {
    let spec = WorktreeSpec {
        times: Some(fixture.path().join("times/r-1")),
        ..fixture.spec(name)
    };
    repo.worktrees().add(&spec).unwrap()
}

#[test]
fn a_file_with_the_bases_content_has_the_time_of_the_users_in_every_worktree() {
    let fixture = Fixture::new(&[
        ("same", "1\n"),
        ("src/deep/same", "1\n"),
        ("src/edited", "1\n"),
        ("changed", "1\n"),
    ]);
    let project = fixture.project();
    symlink("same", project.join("link")).unwrap();
    let base = fixture.commit_files(&[], "a link");
    for (name, time) in [
        ("same", OLD),
        ("src/deep/same", OLDER),
        ("link", OLDER),
        ("src/deep", OLD),
        ("changed", OLD),
    ] {
        touch(&project.join(name), time);
    }
    // The user's own is another one, whatever its time.
    write_files(&project, &[("src/edited", "2\n")]);
    touch(&project.join("src/edited"), OLD);
    let repo = fixture.repo();
    let record = fixture.path().join("times/r-1");
    repo.worktrees().record_times(&record, &base).unwrap();
    // What the user touches later changes nothing, and neither does another recording.
    touch(&project.join("same"), OLDER);
    repo.worktrees().record_times(&record, &base).unwrap();
    touch(&project.join("same"), OLD);
    let one = worktree(&fixture, &repo, "T1");
    fixture.git(&["checkout", "-q", "-b", "later"]);
    fixture.git(&["stash", "-q"]);
    fixture.commit_files(&[("changed", "2\n")], "later");
    let later = worktree(&fixture, &repo, "T2");
    for name in ["same", "src/deep/same", "link", "src/deep"] {
        let expected = time(project.join(name));
        assert_eq!(
            [&one, &later].map(|worktree| time(worktree.path().join(name))),
            [expected; 2],
            "{name}"
        );
    }
    let of = |worktree: &Worktree, name: &str| time(worktree.path().join(name));
    // 2020 is long ago, the recording is not; but all worktrees have the same time.
    assert_eq!(of(&one, "src/edited"), of(&later, "src/edited"));
    assert!(of(&one, "src/edited") > of(&one, "same"));
    assert_eq!(of(&one, "changed"), of(&one, "same"));
    assert!(of(&later, "changed") > of(&later, "src/edited"));
    for worktree in [&one, &later] {
        worktree.verify_untampered().unwrap();
        // Compares what the index knows with the files, and reads none of them.
        assert_eq!(git_in(worktree.path(), &["diff-files", "--name-only"]), "");
        assert_eq!(git_in(worktree.path(), &["status", "--porcelain"]), "");
    }
    // The control: without a record, files are as old as their checkout.
    let control = fixture.worktree(&repo, "T3");
    assert!(of(&control, "same") > of(&one, "src/edited"));
}

#[test]
fn times_are_set_in_a_new_worktree_alone() {
    let fixture = Fixture::new(&[("same", "1\n"), ("other", "1\n")]);
    touch(&fixture.project().join("same"), OLD);
    let (repo, base) = (fixture.repo(), fixture.tip("HEAD"));
    repo.worktrees()
        .record_times(&fixture.path().join("times/r-1"), &base)
        .unwrap();
    let spec = WorktreeSpec {
        times: Some(fixture.path().join("times/r-1")),
        branch: None,
        ..fixture.spec("verifier")
    };
    let verifier = repo.worktrees().add(&spec).unwrap();
    assert_eq!(
        time(verifier.path().join("same")),
        time(fixture.project().join("same"))
    );
    let changed = fixture.commit_files(&[("same", "2\n")], "changed");
    repo.worktrees()
        .checkout_detached(&verifier, &changed)
        .unwrap();
    // What was built from the other content is newer than the file was in the base: it must not
    // seem to be built from the base's.
    repo.worktrees()
        .checkout_detached(&repo.worktrees().add(&spec).unwrap(), &base)
        .unwrap();
    assert!(time(verifier.path().join("same")) > time(fixture.project().join("same")));
    assert_eq!(read(verifier.path().join("same")), "1\n");
}
