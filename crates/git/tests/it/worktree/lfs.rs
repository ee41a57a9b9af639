//! Files that are stored with Git LFS: their contents are in worktrees, their pointers in commits.
//! No `git lfs` runs.

use std::path::PathBuf;
use std::process::Command;

use orchestrate_core::Oid;
use orchestrate_git::{GitError, Merge, Move, RepositoryRefusal, SnapshotRules, Warning, Worktree};

use crate::support::{Fixture, git_in, read, write_files};

const ATTRIBUTES: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";
const BIG: &str = "a content that is much longer than its pointer\n";

fn sha256(content: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x"), content).unwrap();
    let printed = Command::new("sha256sum")
        .arg(folder.path().join("x"))
        .output()
        .unwrap();
    String::from_utf8(printed.stdout).unwrap()[..64].to_owned()
}

fn pointer(content: &str) -> String {
    format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n",
        sha256(content),
        content.len()
    )
}

/// The place of a content in the user's repository.
fn object(fixture: &Fixture, content: &str) -> PathBuf {
    let hash = sha256(content);
    fixture
        .project()
        .join(".git/lfs/objects")
        .join(&hash[..2])
        .join(&hash[2..4])
        .join(&hash)
}

fn store(fixture: &Fixture, content: &str) {
    let path = object(fixture, content);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// A project with `big.bin`, whose content it has, and the text `a`.
fn without_filter() -> Fixture {
    let big = BIG.repeat(10);
    let fixture = Fixture::new(&[
        (".gitattributes", ATTRIBUTES),
        ("a", "1\n"),
        ("data/big.bin", &pointer(&big)),
    ]);
    store(&fixture, &big);
    fixture
}

/// The same, and the user has a filter, which must not run.
fn project() -> Fixture {
    let fixture = without_filter();
    let planted = fixture.planted();
    for kind in ["clean", "smudge", "process"] {
        fixture.configure(&format!("filter.lfs.{kind}"), planted.to_str().unwrap());
    }
    fixture.configure("filter.lfs.required", "true");
    fixture
}

fn text(worktree: &Worktree, path: &str) -> String {
    read(worktree.path().join(path))
}

#[test]
fn contents_come_from_the_local_store_and_commits_keep_pointers() {
    let fixture = project();
    let big = BIG.repeat(10);
    let repo = fixture.repo();
    repo.require_ready().unwrap();
    assert_eq!(repo.warnings().unwrap(), []);
    let worktree = fixture.worktree(&repo, "T1");
    assert_eq!(text(&worktree, "data/big.bin"), big);
    assert_eq!(
        git_in(worktree.path(), &["status", "--porcelain"]),
        "",
        "git sees no change"
    );
    write_files(worktree.path(), &[("a", "2\n")]);
    let commit = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    let stored = &fixture.files_of(&repo.tree_of(&commit).unwrap())[b"data/big.bin".as_slice()];
    assert_eq!(*stored, ("100644".to_owned(), pointer(&big)));
    // The same content, written or moved, is the same pointer.
    write_files(worktree.path(), &[("data/big.bin", &big)]);
    std::fs::rename(
        worktree.path().join("data/big.bin"),
        worktree.path().join("moved.bin"),
    )
    .unwrap();
    let moved = fixture.commit(&repo, &worktree, &[&commit]);
    let names = fixture.git(&[
        "diff-tree",
        "-r",
        "-M100%",
        "--name-status",
        commit.as_str(),
        moved.as_str(),
    ]);
    assert_eq!(names, "R100\tdata/big.bin\tmoved.bin");
    // An empty file is stored as it is, and a deleted one is gone.
    std::fs::remove_file(worktree.path().join("moved.bin")).unwrap();
    write_files(worktree.path(), &[("empty.bin", "")]);
    let last = fixture.commit(&repo, &worktree, &[&moved]);
    let files = fixture.files_of(&repo.tree_of(&last).unwrap());
    assert_eq!(files[b"empty.bin".as_slice()].1, "");
    assert!(!files.contains_key(b"moved.bin".as_slice()));
    assert!(!fixture.canary().exists(), "no filter runs");
}

#[test]
fn a_content_that_is_not_there_or_not_right_stays_a_pointer() {
    let fixture = project();
    let big = BIG.repeat(10);
    // The control: it is brought as long as it is there.
    assert_eq!(
        text(&fixture.worktree(&fixture.repo(), "T1"), "data/big.bin"),
        big
    );
    let mut flipped = big.clone();
    flipped.replace_range(..1, "A");
    std::fs::write(object(&fixture, &big), flipped).unwrap();
    let worktree = fixture.worktree(&fixture.repo(), "T2");
    assert_eq!(
        text(&worktree, "data/big.bin"),
        pointer(&big),
        "its hash is another"
    );
    std::fs::write(object(&fixture, &big), "short").unwrap();
    assert_eq!(
        text(&fixture.worktree(&fixture.repo(), "T3"), "data/big.bin"),
        pointer(&big),
        "its size is another"
    );
    std::fs::remove_file(object(&fixture, &big)).unwrap();
    let repo = fixture.repo();
    assert_eq!(repo.warnings().unwrap(), [Warning::Pointers { files: 1 }]);
    let worktree = fixture.worktree(&repo, "T4");
    assert_eq!(text(&worktree, "data/big.bin"), pointer(&big));
    assert!(
        !repo
            .store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap()
            .changed
    );
}

#[test]
fn a_new_content_is_refused_task_by_task() {
    let fixture = project();
    let big = BIG.repeat(10);
    let repo = fixture.repo();
    let table = [
        ("T1", "data/big.bin", "a new content\n".to_owned()),
        ("T2", "new.bin", "a new file\n".to_owned()),
        ("T3", "data/big.bin", pointer("a content that nobody has\n")),
    ];
    for (name, path, content) in table {
        let worktree = fixture.worktree(&repo, name);
        write_files(worktree.path(), &[(path, &content)]);
        match repo.store().snapshot(&worktree, &SnapshotRules::default()) {
            Err(GitError::Unstorable {
                path: refused,
                reason,
            }) => {
                assert_eq!(refused, PathBuf::from(path), "{reason}");
                assert!(reason.contains("Git LFS"), "{reason}");
            }
            other => panic!("{name}: {other:?}"),
        }
        // The control: without it, the rest is stored.
        write_files(worktree.path(), &[("a", "2\n")]);
        match path {
            "new.bin" => std::fs::remove_file(worktree.path().join(path)).unwrap(),
            _ => write_files(worktree.path(), &[(path, &big)]),
        }
        let snapshot = repo
            .store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap();
        let stored = &fixture.files_of(&snapshot.tree)[b"data/big.bin".as_slice()];
        assert_eq!(stored.1, pointer(&big));
    }
    assert!(!fixture.canary().exists(), "no filter runs");
}

#[test]
fn contents_follow_exchanges_merges_and_landing() {
    let fixture = project();
    let other =
        "another content, which is as long as it has to be to differ in size from a pointer. "
            .repeat(3);
    store(&fixture, &other);
    let first = fixture.tip("HEAD");
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    // The fixture's own git has no filter, so a pointer is committed as the file's content.
    let second = fixture.commit_files(
        &[("data/big.bin", &pointer(&other)), ("b", "2\n")],
        "second",
    );
    repo.worktrees()
        .exchange(&worktree, &repo.tree_of(&second).unwrap())
        .unwrap();
    assert_eq!(text(&worktree, "data/big.bin"), other);
    repo.worktrees()
        .exchange(&worktree, &repo.tree_of(&first).unwrap())
        .unwrap();
    assert_eq!(text(&worktree, "data/big.bin"), BIG.repeat(10));
    write_files(worktree.path(), &[("a", "agent\n")]);
    let work = fixture.commit(&repo, &worktree, &[&first]);
    let Merge::Clean { tree } = repo.merging().merge(&second, &work).unwrap() else {
        panic!("a conflict")
    };
    let merged = fixture.files_of(&tree);
    assert_eq!(merged[b"data/big.bin".as_slice()].1, pointer(&other));
    assert_eq!(merged[b"a".as_slice()].1, "agent\n");
    assert!(!fixture.canary().exists(), "no filter runs");
}

/// `git lfs install --local` writes the filter into the repository's own configuration, which
/// landing does not run.
#[test]
fn work_lands_beside_files_of_a_filter_that_only_the_repository_configures() {
    let fixture = without_filter();
    fixture.git(&[
        "config",
        "filter.lfs.smudge",
        fixture.planted().to_str().unwrap(),
    ]);
    let first = fixture.tip("HEAD");
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("a", "2\n")]);
    let work = fixture.commit(&repo, &worktree, &[&first]);
    let landing = |to: &Oid| Move {
        branch: "main".to_owned(),
        from: fixture.tip("main"),
        to: to.clone(),
    };
    repo.landing().land(&landing(&work)).unwrap();
    assert_eq!(read(fixture.project().join("a")), "2\n");
    // The control: a commit that changes such a file is not written without the filter.
    std::fs::remove_file(worktree.path().join("data/big.bin")).unwrap();
    let deleting = fixture.commit(&repo, &worktree, &[&work]);
    let refused = repo.landing().land(&landing(&deleting)).unwrap_err();
    let is_filter = matches!(
        &refused,
        GitError::Refused {
            refusal: RepositoryRefusal::OwnFilter { .. },
            ..
        }
    );
    assert!(is_filter, "{refused}");
    assert!(!fixture.canary().exists(), "no filter runs");
}

/// A content that is exactly as long as its pointer could be taken for the pointer by its size
/// alone.
#[test]
fn a_content_as_long_as_its_pointer_is_no_pointer() {
    let content = "x".repeat(128);
    assert_eq!(pointer(&content).len(), content.len());
    let fixture = Fixture::new(&[
        (".gitattributes", ATTRIBUTES),
        ("x.bin", &pointer(&content)),
    ]);
    store(&fixture, &content);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    assert_eq!(text(&worktree, "x.bin"), content);
    let known = repo.store().recorded(&worktree).unwrap();
    let found = worktree.path().join("x.bin").metadata().unwrap();
    use std::os::unix::fs::MetadataExt as _;
    let stamp = orchestrate_git::Stamp {
        inode: found.ino(),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    };
    assert_eq!(known.id("x.bin", &stamp), None);
    assert!(
        !repo
            .store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap()
            .changed
    );
}
