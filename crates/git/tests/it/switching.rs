//! What a landing leaves that was killed or failed while git wrote, and how the next landing
//! handles it.

use std::path::PathBuf;

use orchestrate_git::{GitError, Move, Repo};

use crate::land::{fail_at, files_and_status};
use crate::support::{Fixture, read, write_files};

/// Where a test keeps a copy of the note that exists while git writes.
const KEPT_NOTE: &str = ".git/kept-note";

/// Returns the path of the note that exists while git writes.
fn note(fixture: &Fixture) -> PathBuf {
    fixture
        .state()
        .join("git")
        .join(fixture.repo().id())
        .join("switch")
}

/// Creates a repository, and a commit on top of main that replaces a file with a folder. The user's
/// filter `full` applies to its file `new`, so a test can make git fail there.
fn prepared_to_fail() -> (Fixture, Repo, Move) {
    let fixture = Fixture::new(&[("a", "1\n"), ("d", "1\n")]);
    let base = fixture.tip("HEAD");
    fixture.git(&["switch", "-q", "-c", "work"]);
    fixture.git(&["rm", "-q", "d"]);
    let new = fixture.commit_files(&[("a", "2\n"), ("d/x", "2\n"), ("new", "2\n")], "work");
    fixture.git(&["switch", "-q", "main"]);
    std::fs::create_dir_all(fixture.project().join(".git/info")).unwrap();
    std::fs::write(
        fixture.project().join(".git/info/attributes"),
        "new filter=full\n",
    )
    .unwrap();
    fail_at(&fixture, false);
    let repo = fixture.repo();
    let landing = Move {
        branch: "main".to_owned(),
        from: base,
        to: new,
    };
    (fixture, repo, landing)
}

/// Makes git run a script when it writes `new`.
fn meanwhile(fixture: &Fixture, script: &str) {
    fixture.configure("filter.full.smudge", script);
}

fn keep_note(fixture: &Fixture, then: &str) {
    meanwhile(
        fixture,
        &format!("cp {} {KEPT_NOTE}; {then}", note(fixture).display()),
    );
}

/// Leaves the state of a landing that was killed while git wrote: git has finished, the branch has
/// not moved, and the note is there.
fn land_killed(fixture: &Fixture, repo: &Repo, landing: &Move) {
    keep_note(fixture, "cat");
    repo.landing().land(landing).unwrap();
    fixture.git(&["update-ref", "refs/heads/main", landing.from.as_str()]);
    bring_note(fixture);
    meanwhile(fixture, "cat");
}

/// Adds another commit on top of main, which changes no file of the first one.
fn another(fixture: &Fixture, landing: &Move) -> Move {
    fixture.git(&["switch", "-q", "-c", "another", landing.from.as_str()]);
    let new = fixture.commit_files(&[("other", "2\n")], "another");
    fixture.git(&["switch", "-q", "main"]);
    Move {
        to: new,
        ..landing.clone()
    }
}

/// Restores the note, as a kill would have left it.
fn bring_note(fixture: &Fixture) {
    std::fs::rename(fixture.project().join(KEPT_NOTE), note(fixture)).unwrap();
}

#[test]
fn what_stands_in_the_way_of_putting_back_is_kept() {
    let (fixture, repo, landing) = prepared_to_fail();
    keep_note(&fixture, "exit 1");
    assert!(matches!(
        repo.landing().land(&landing),
        Err(GitError::NotWritten { .. })
    ));
    // As if git had been killed too, and the user had put a file into the folder that git created.
    std::fs::remove_file(fixture.project().join("d")).unwrap();
    write_files(
        &fixture.project(),
        &[("a", "2"), ("d/x", "2\n"), ("d/mine", "mine\n")],
    );
    bring_note(&fixture);
    meanwhile(&fixture, "cat");
    let mine = fixture.project().join("d/mine");
    for _ in 0..2 {
        let error = repo.landing().land(&landing).unwrap_err();
        assert!(matches!(error, GitError::HalfWritten { .. }), "{error}");
        assert_eq!(read(&mine), "mine\n");
    }
    std::fs::remove_dir_all(mine.parent().unwrap()).unwrap();
    repo.landing().land(&landing).unwrap();
    assert_eq!(
        (fixture.tip("main"), fixture.git(&["status", "--porcelain"])),
        (landing.to, String::new())
    );
}

#[test]
fn a_file_that_the_user_has_written_since_is_not_put_back() {
    let (fixture, repo, landing) = prepared_to_fail();
    keep_note(&fixture, "exit 1");
    assert!(matches!(
        repo.landing().land(&landing),
        Err(GitError::NotWritten { .. })
    ));
    write_files(&fixture.project(), &[("a", "2\nmine\n"), ("new", "mine\n")]);
    bring_note(&fixture);
    meanwhile(&fixture, "cat");
    match repo.landing().land(&landing) {
        Err(GitError::LocalChanges { paths, .. }) => assert_eq!(paths, [PathBuf::from("new")]),
        other => panic!("{other:?}"),
    }
    let text_of = |name| read(fixture.project().join(name));
    assert_eq!(
        (text_of("a"), text_of("new"), text_of("d")),
        (
            "2\nmine\n".to_owned(),
            "mine\n".to_owned(),
            "1\n".to_owned()
        )
    );
}

/// If a note cannot be written, the previous one stays, and is sufficient.
#[test]
fn what_could_not_be_noted_is_put_back_by_the_next() {
    let (fixture, repo, landing) = prepared_to_fail();
    let before = files_and_status(&fixture);
    let in_the_way = note(&fixture).with_extension("new");
    meanwhile(&fixture, &format!("mkdir {}; exit 1", in_the_way.display()));
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(matches!(error, GitError::HalfWritten { .. }), "{error}");
    std::fs::remove_dir(in_the_way).unwrap();
    meanwhile(&fixture, "exit 1");
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(matches!(error, GitError::NotWritten { .. }), "{error}");
    assert_eq!(files_and_status(&fixture), before);
}

#[test]
fn what_git_wrote_before_it_was_killed_is_put_back() {
    let (fixture, repo, landing) = prepared_to_fail();
    let before = files_and_status(&fixture);
    meanwhile(&fixture, "kill $PPID; exit 1");
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(matches!(error, GitError::NotWritten { .. }), "{error}");
    assert_eq!(files_and_status(&fixture), before);
}

/// A user who has reverted a killed landing, and then copied parts of it by hand, keeps these
/// files, although git might have written the same.
#[test]
fn what_was_taken_by_hand_of_a_killed_landing_stays() {
    for [of_a, of_new] in [["2\n", "2\n"], ["", ""]] {
        let (fixture, repo, landing) = prepared_to_fail();
        let other = another(&fixture, &landing);
        land_killed(&fixture, &repo, &landing);
        fixture.git(&["reset", "-q", "--hard"]);
        write_files(&fixture.project(), &[("a", of_a), ("new", of_new)]);
        let before = files_and_status(&fixture);
        repo.landing().land(&other).unwrap();
        repo.landing().unland(&other).unwrap();
        assert_eq!(files_and_status(&fixture), before);
    }
}

#[test]
fn what_was_taken_by_hand_of_a_killed_landing_that_only_adds_stays() {
    let (fixture, repo, mut landing) = prepared_to_fail();
    let other = another(&fixture, &landing);
    fixture.git(&["switch", "-q", "-c", "adds"]);
    landing.to = fixture.commit_files(&[("new", "2\n")], "adds");
    fixture.git(&["switch", "-q", "main"]);
    land_killed(&fixture, &repo, &landing);
    fixture.git(&["reset", "-q", "--hard"]);
    write_files(&fixture.project(), &[("new", "2\n")]);
    let before = files_and_status(&fixture);
    repo.landing().land(&other).unwrap();
    repo.landing().unland(&other).unwrap();
    assert_eq!(files_and_status(&fixture), before);
}

/// The user has restored what could not be restored, and then copied parts of the landing by hand.
#[test]
fn what_was_taken_by_hand_of_a_failed_landing_stays() {
    let (fixture, repo, landing) = prepared_to_fail();
    let other = another(&fixture, &landing);
    std::fs::write(
        fixture.project().join(".git/info/attributes"),
        "* filter=full\n",
    )
    .unwrap();
    let script = "case $(cat .git/fails) in yes) exit 1;; esac; cat";
    std::fs::write(fixture.project().join(".git/fails"), "yes").unwrap();
    meanwhile(&fixture, script);
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(matches!(error, GitError::HalfWritten { .. }), "{error}");
    std::fs::write(fixture.project().join(".git/fails"), "no").unwrap();
    fixture.git(&["reset", "-q", "--hard"]);
    write_files(&fixture.project(), &[("a", "2\n"), ("new", "2\n")]);
    let before = files_and_status(&fixture);
    repo.landing().land(&other).unwrap();
    repo.landing().unland(&other).unwrap();
    assert_eq!(files_and_status(&fixture), before);
}

/// `git status` and the like let git rewrite its index; what git left half written is still
/// restored.
#[test]
fn a_look_at_half_a_landing_does_not_keep_it_from_being_put_back() {
    let (fixture, repo, landing) = prepared_to_fail();
    keep_note(&fixture, "exit 1");
    assert!(matches!(
        repo.landing().land(&landing),
        Err(GitError::NotWritten { .. })
    ));
    std::fs::remove_file(fixture.project().join("d")).unwrap();
    write_files(&fixture.project(), &[("a", "2"), ("d/x", "")]);
    bring_note(&fixture);
    fixture.git(&["status"]);
    fixture.git(&["update-index", "--force-write-index"]);
    meanwhile(&fixture, "cat");
    repo.landing().land(&landing).unwrap();
    assert_eq!(
        (fixture.tip("main"), fixture.git(&["status", "--porcelain"])),
        (landing.to, String::new())
    );
}

/// This is the state after `git gc`, once the run is deleted.
#[test]
fn a_landing_whose_commits_are_gone_is_in_nobodys_way() {
    let (fixture, repo, landing) = prepared_to_fail();
    let other = another(&fixture, &landing);
    land_killed(&fixture, &repo, &landing);
    fixture.git(&["reset", "-q", "--hard"]);
    let noted = read(note(&fixture));
    let gone = noted.replace(landing.to.as_str(), &"1".repeat(40));
    std::fs::write(note(&fixture), gone).unwrap();
    repo.landing().land(&other).unwrap();
    assert!(!note(&fixture).exists());
}

#[test]
fn a_landing_whose_checkout_is_gone_is_in_nobodys_way() {
    let (fixture, repo, landing) = prepared_to_fail();
    fixture.git(&["switch", "-q", "-c", "elsewhere"]);
    let linked = fixture.path().join("linked");
    fixture.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    let note = note(&fixture);
    meanwhile(
        &fixture,
        &format!("cp {0} {0}.kept; exit 1", note.display()),
    );
    let error = repo.landing().land(&landing).unwrap_err();
    assert!(matches!(error, GitError::NotWritten { .. }), "{error}");
    std::fs::rename(note.with_extension("kept"), &note).unwrap();
    std::fs::remove_dir_all(linked).unwrap();
    meanwhile(&fixture, "cat");
    repo.landing()
        .land(&Move {
            branch: "elsewhere".to_owned(),
            ..landing
        })
        .unwrap();
    assert!(!note.exists());
}
