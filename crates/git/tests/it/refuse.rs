//! Repositories that are refused, each with its reason, before anything is created in them.

use std::path::{Path, PathBuf};

use orchestrate_git::{GitError, Operation, Repo, RepositoryRefusal, Warning};

use crate::support::{Fixture, command, git_in, write_files};

fn refusal(path: &Path) -> RepositoryRefusal {
    match open(path).and_then(|repo| repo.require_ready()) {
        Err(GitError::Refused { refusal, .. }) => refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn require_ready(path: &Path) {
    open(path).and_then(|repo| repo.require_ready()).unwrap();
}

fn open(path: &Path) -> Result<Repo, GitError> {
    Repo::open(path, &path.join("state"))
}

fn init(args: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("project");
    std::fs::create_dir(&path).unwrap();
    git_in(&path, &[&["init", "-q", "-b", "main"], args].concat());
    (folder, path)
}

fn commit(path: &Path) {
    write_files(path, &[("a", "1\n")]);
    git_in(path, &["add", "-A"]);
    git_in(path, &["commit", "-q", "-m", "first"]);
}

#[test]
fn no_repository() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(refusal(folder.path()), RepositoryRefusal::NoRepository);
    // The control: the same folder is ready once it is a repository with a commit.
    git_in(folder.path(), &["init", "-q", "-b", "main"]);
    commit(folder.path());
    require_ready(folder.path());
}

#[test]
fn bare_and_unborn() {
    let (_folder, path) = init(&["--bare"]);
    assert_eq!(refusal(&path), RepositoryRefusal::Bare);
    let (folder, path) = init(&[]);
    assert_eq!(refusal(&path), RepositoryRefusal::Unborn);
    // The control: with a commit the same repository is ready, and so is a clone of it unless that
    // is bare.
    commit(&path);
    require_ready(&path);
    git_in(folder.path(), &["clone", "-q", "project", "clone"]);
    require_ready(&folder.path().join("clone"));
    git_in(folder.path(), &["clone", "-q", "--bare", "project", "bare"]);
    assert_eq!(
        refusal(&folder.path().join("bare")),
        RepositoryRefusal::Bare
    );
}

#[test]
fn other_formats() {
    let (_folder, path) = init(&["--object-format=sha256"]);
    commit(&path);
    assert_eq!(refusal(&path), RepositoryRefusal::Sha256);
    // The control: the same commit is ready in the usual format.
    let (_folder, path) = init(&[]);
    commit(&path);
    require_ready(&path);
    // Written by hand, because the oldest git that we support does not know reftable.
    git_in(&path, &["config", "core.repositoryformatversion", "1"]);
    git_in(&path, &["config", "extensions.refStorage", "reftable"]);
    assert_eq!(refusal(&path), RepositoryRefusal::Reftable);
}

#[test]
fn a_partial_clone_of_an_old_git() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    fixture.git(&["config", "core.repositoryformatversion", "1"]);
    fixture.git(&["config", "extensions.partialClone", "origin"]);
    assert_eq!(refusal(&fixture.project()), RepositoryRefusal::PartialClone);
    // The control: it is ready after what the refusal tells its user to do.
    fixture.git(&["config", "remote.origin.promisor", "true"]);
    fixture.git(&["config", "--unset", "extensions.partialClone"]);
    require_ready(&fixture.project());
}

#[test]
fn sparse_and_split() {
    let fixture = Fixture::new(&[("a/x", "1\n"), ("b/y", "1\n")]);
    fixture.git(&["sparse-checkout", "set", "--cone", "a"]);
    assert_eq!(refusal(&fixture.project()), RepositoryRefusal::Sparse);
    // The control: each is ready after what the refusal tells its user to do.
    fixture.git(&["sparse-checkout", "disable"]);
    require_ready(&fixture.project());
    let fixture = Fixture::new(&[("a", "1\n")]);
    fixture.git(&["update-index", "--split-index"]);
    assert_eq!(refusal(&fixture.project()), RepositoryRefusal::SplitIndex);
    fixture.git(&["update-index", "--no-split-index"]);
    require_ready(&fixture.project());
}

#[test]
fn encodings_that_only_a_program_could_convert() {
    // The control: Git LFS is no reason to refuse, and neither is UTF-8.
    let fixture = Fixture::new(&[(
        "deep/.gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    )]);
    require_ready(&fixture.project());
    let attributes = "*.txt working-tree-encoding=UTF-8\n*.ps1 text working-tree-encoding=UTF-16LE-BOM eol=crlf\n";
    let fixture = Fixture::new(&[(".gitattributes", attributes)]);
    let (path, encoding) = (PathBuf::from(".gitattributes"), "UTF-16LE-BOM".to_owned());
    assert_eq!(
        refusal(&fixture.project()),
        RepositoryRefusal::Encoding { path, encoding }
    );
}

#[test]
fn filters_that_are_configured() {
    let fixture = Fixture::new(&[("src/.gitattributes", "# filter=up\n*.txt filter=up\n")]);
    let ready = || fixture.repo().require_ready();
    ready().unwrap();
    // Git runs `smudge` only on checkout and stores the file as it is; an empty `process` is
    // disabled.
    fixture.git(&["config", "filter.up.smudge", "cat"]);
    fixture.git(&["config", "filter.up.process", ""]);
    ready().unwrap();
    fixture.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    let (path, filter) = (PathBuf::from("src/.gitattributes"), "up".to_owned());
    assert_eq!(
        refusal(&fixture.project()),
        RepositoryRefusal::Filter { path, filter }
    );
    // The last value applies, as when the repository's value overrides the user's.
    fixture.git(&["config", "--add", "filter.up.clean", ""]);
    ready().unwrap();
    fixture.git(&["config", "--unset-all", "filter.up.clean"]);
    fixture.git(&["config", "filter.mine.process", "cat"]);
    std::fs::create_dir_all(fixture.project().join(".git/info")).unwrap();
    write_files(
        &fixture.project(),
        &[(".git/info/attributes", "* filter=mine\n")],
    );
    let path = PathBuf::from(".git/info/attributes");
    let expected = RepositoryRefusal::Filter {
        path,
        filter: "mine".to_owned(),
    };
    assert_eq!(refusal(&fixture.project()), expected);
}

#[test]
fn in_the_middle_of_something() {
    let conflicting = || {
        let fixture = Fixture::new(&[("a", "1\n")]);
        fixture.git(&["switch", "-q", "-c", "other"]);
        fixture.commit_files(&[("a", "other\n")], "other");
        fixture.git(&["switch", "-q", "main"]);
        fixture.commit_files(&[("a", "main\n")], "main");
        fixture
    };
    let table = [
        (["merge", "other"], Operation::Merge, ["merge", "--abort"]),
        (
            ["rebase", "other"],
            Operation::Rebase,
            ["rebase", "--abort"],
        ),
        (
            ["cherry-pick", "other"],
            Operation::CherryPick,
            ["cherry-pick", "--abort"],
        ),
        (["bisect", "start"], Operation::Bisect, ["bisect", "reset"]),
    ];
    for (args, operation, abort) in table {
        let fixture = conflicting();
        require_ready(&fixture.project());
        command(&fixture.project(), &args).output().unwrap();
        assert_eq!(
            refusal(&fixture.project()),
            RepositoryRefusal::InProgress(operation)
        );
        // It can still be opened and read.
        open(&fixture.project()).unwrap().head().unwrap();
        // The control: the same repository was ready before, and is again afterwards.
        fixture.git(&abort);
        require_ready(&fixture.project());
    }
}

#[test]
fn warnings_are_no_refusals() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    fixture.git(&["checkout", "-q", "--detach"]);
    write_files(&fixture.project(), &[("a", "2\n"), ("new", "x")]);
    let repo = fixture.repo();
    assert_eq!(
        repo.warnings().unwrap(),
        [Warning::Dirty { files: 2 }, Warning::DetachedHead]
    );
    assert_eq!(repo.head().unwrap().branch, None);
    // The control: the same checkout on a branch is not warned of once its changes are committed.
    fixture.git(&["switch", "-q", "main"]);
    fixture.commit_files(&[], "second");
    assert_eq!(fixture.repo().warnings().unwrap(), []);
}

#[test]
fn a_shallow_clone_is_warned_of() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    fixture.commit_files(&[("a", "2\n")], "second");
    let clone = fixture.path().join("clone");
    let from = format!("file://{}", fixture.project().display());
    git_in(
        &fixture.path(),
        &[
            "clone",
            "-q",
            "--depth",
            "1",
            &from,
            clone.to_str().unwrap(),
        ],
    );
    let repo = open(&clone).unwrap();
    repo.require_ready().unwrap();
    assert_eq!(repo.warnings().unwrap(), [Warning::Shallow]);
    // The control: the same clone with all of its history is not warned of.
    git_in(&clone, &["fetch", "-q", "--unshallow"]);
    assert_eq!(open(&clone).unwrap().warnings().unwrap(), []);
}

#[test]
fn odd_but_fine_repositories_open() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let linked = fixture.path().join("linked");
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        linked.to_str().unwrap(),
        "-b",
        "side",
    ]);
    let repo = open(&linked).unwrap();
    assert_eq!(repo.workdir(), linked);
    assert_eq!(repo.common_dir(), fixture.project().join(".git"));
    assert_eq!(repo.id(), fixture.repo().id());
    let below = fixture.project().join("below");
    std::fs::create_dir(&below).unwrap();
    assert_eq!(open(&below).unwrap().workdir(), fixture.project());
    // A worktree of a worktree is one of the same repository.
    let further = fixture.path().join("further");
    git_in(
        &linked,
        &[
            "worktree",
            "add",
            "-q",
            further.to_str().unwrap(),
            "-b",
            "further",
        ],
    );
    let repo = open(&further).unwrap();
    assert_eq!(
        (repo.workdir(), repo.id()),
        (further.as_path(), fixture.repo().id())
    );
    // The control: a repository of its own below the checkout is told apart from the one around it.
    git_in(&below, &["init", "-q", "-b", "main"]);
    commit(&below);
    let repo = open(&below).unwrap();
    assert_eq!(repo.workdir(), below);
    assert_ne!(repo.id(), fixture.repo().id());
}

#[test]
fn borrowed_objects_are_warned_of_until_they_are_its_own() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let clone = fixture.path().join("clone");
    fixture.git(&["clone", "-q", "--shared", ".", clone.to_str().unwrap()]);
    assert_eq!(
        open(&clone).unwrap().warnings().unwrap(),
        [Warning::BorrowedObjects]
    );
    git_in(&clone, &["repack", "-q", "-a", "-d"]);
    std::fs::remove_file(clone.join(".git/objects/info/alternates")).unwrap();
    assert_eq!(open(&clone).unwrap().warnings().unwrap(), []);
    assert_eq!(git_in(&clone, &["show", "HEAD:a"]), "1");
}
