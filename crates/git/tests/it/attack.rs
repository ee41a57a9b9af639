//! What an agent may plant in its worktree. A canary file shows whether a planted program ran.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use orchestrate_git::{GitError, Loss, Repo, SnapshotRules, Worktree, WorktreeSpec};

use crate::support::{Fixture, command, commit_spec, git_in, make_pipe, read, write_files};

/// Runs every operation that the coordinator performs on an agent's tree.
fn everything(fixture: &Fixture, repo: &Repo, worktree: &Worktree) -> Result<(), GitError> {
    let rules = SnapshotRules {
        unrecorded: Loss::Everything,
        ..SnapshotRules::default()
    };
    repo.store().status(worktree)?;
    let snapshot = repo.store().snapshot(worktree, &rules)?;
    let commit = repo.commit(&commit_spec(snapshot.tree, &[&fixture.tip("HEAD")]))?;
    repo.keep("refs/orchestrate/keep/r-test01/T1/1", &commit)?;
    // Another commit, so that there is something to merge.
    let head = fixture.tip("HEAD");
    let other = repo.commit(&commit_spec(repo.tree_of(&head)?, &[&head]))?;
    repo.merging().merge(&other, &commit)?;
    let verifier = WorktreeSpec {
        branch: None,
        ..fixture.spec("verifier")
    };
    let verifier = repo.worktrees().add(&verifier)?;
    repo.worktrees().checkout_detached(&verifier, &commit)?;
    let anchor = "refs/orchestrate/keep/r-test01/T1/conflict";
    repo.merging()
        .write_conflict(worktree, &other, &commit, anchor)?;
    repo.worktrees()
        .remove(worktree, &fixture.trash())?
        .delete()
}

fn dangerous_config(planted: &Path) -> String {
    let program = planted.display();
    format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\
         [filter \"x\"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n\trequired = true\n\
         [diff]\n\texternal = {program}\n[merge \"x\"]\n\tdriver = {program}\n"
    )
}

/// Creates a repository with one commit and one uncommitted change, and a configuration that names
/// a program.
fn plant_repository(fixture: &Fixture, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    git_in(folder, &["init", "-q"]);
    write_files(
        folder,
        &[
            ("file", "work\n"),
            (".gitattributes", "* filter=x diff=x merge=x\n"),
        ],
    );
    git_in(folder, &["add", "-A"]);
    git_in(folder, &["commit", "-q", "-m", "inner"]);
    let config = dangerous_config(&fixture.planted());
    write_files(folder, &[("file", "WORK\n"), (".git/config", &config)]);
}

/// The control: git itself runs the program that is planted in a folder.
fn require_git_to_run_it(fixture: &Fixture, folder: &Path) {
    std::fs::remove_file(fixture.canary()).ok();
    command(folder, &["status", "--porcelain"])
        .output()
        .unwrap();
    assert!(
        fixture.canary().exists(),
        "the attack does not work on git itself"
    );
}

#[test]
fn a_nested_repository_runs_nothing_and_loses_nothing() {
    let fixture = Fixture::new(&[("a", "1\n"), ("src/tracked", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    for nested in ["nested", "src", "deep/er"] {
        plant_repository(&fixture, &worktree.path().join(nested));
    }
    let snapshot = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap();
    assert_eq!(
        snapshot.nested_repositories,
        ["deep/er", "nested", "src"].map(PathBuf::from)
    );
    let files = fixture.files_of(&snapshot.tree);
    for path in ["nested/file", "src/file", "deep/er/file"] {
        let expected = ("100644".to_owned(), "WORK\n".to_owned());
        assert_eq!(files[path.as_bytes()], expected);
    }
    assert!(
        files
            .keys()
            .all(|path| !path.windows(5).any(|part| part == b".git/"))
    );
    everything(&fixture, &repo, &worktree).unwrap();
    assert!(!fixture.canary().exists());
    let again = fixture.path().join("again");
    plant_repository(&fixture, &again);
    require_git_to_run_it(&fixture, &again);
}

#[test]
fn a_submodule_folder_runs_nothing() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let link = format!("160000,{},sub", fixture.tip("HEAD"));
    fixture.git(&["update-index", "--add", "--cacheinfo", &link]);
    fixture.git(&["commit", "-q", "-m", "link"]);
    let worktree = fixture.worktree(&repo, "T1");
    plant_repository(&fixture, &worktree.path().join("sub"));
    let refused = repo.store().snapshot(&worktree, &SnapshotRules::default());
    assert!(
        matches!(&refused, Err(GitError::Unstorable { path, .. }) if path == Path::new("sub")),
        "{refused:?}"
    );
    assert!(!fixture.canary().exists());
    require_git_to_run_it(&fixture, worktree.path());
}

#[test]
fn a_tampered_pointer_quarantines_the_worktree() {
    type Attack<'a> = &'a dyn Fn(&Worktree);
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let own = fixture.path().join("own");
    plant_repository(&fixture, &own);
    let pointer = format!("gitdir: {}\n", own.join(".git").display());
    let admin = |worktree: &Worktree, name: &str, content: &str| {
        std::fs::write(worktree.admin_dir().join(name), content).unwrap();
    };
    let replaced: Attack<'_> =
        &|worktree| std::fs::write(worktree.path().join(".git"), &pointer).unwrap();
    let folder: Attack<'_> = &|worktree| {
        std::fs::remove_file(worktree.path().join(".git")).unwrap();
        std::fs::create_dir(worktree.path().join(".git")).unwrap();
    };
    let link: Attack<'_> = &|worktree| {
        std::fs::rename(worktree.path().join(".git"), worktree.path().join("x")).unwrap();
        std::os::unix::fs::symlink("x", worktree.path().join(".git")).unwrap();
    };
    let gone: Attack<'_> = &|worktree| std::fs::remove_file(worktree.path().join(".git")).unwrap();
    let common: Attack<'_> = &|worktree| admin(worktree, "commondir", "/elsewhere\n");
    let back: Attack<'_> = &|worktree| admin(worktree, "gitdir", "/elsewhere/.git\n");
    let config: Attack<'_> = &|worktree| admin(worktree, "config.worktree", "");
    let attacks = [
        ("T1", ".git", replaced),
        ("T2", ".git", folder),
        ("T3", ".git", link),
        ("T4", ".git", gone),
        ("T5", "commondir", common),
        ("T6", "gitdir", back),
        ("T7", "config.worktree", config),
    ];
    for (name, expected, attack) in attacks {
        let worktree = fixture.worktree(&repo, name);
        write_files(worktree.path(), &[("work", "kept\n")]);
        attack(&worktree);
        let error = everything(&fixture, &repo, &worktree).unwrap_err();
        assert!(
            matches!(&error, GitError::Tampered { what, .. } if *what == expected),
            "{name}: {error}"
        );
        assert_eq!(read(worktree.path().join("work")), "kept\n");
        if expected == ".git" {
            // Follow the error's advice.
            drop(std::fs::rename(
                worktree.path().join(".git"),
                fixture.path().join(format!("{name}.git")),
            ));
            fixture.git(&["worktree", "repair"]);
            repo.worktrees().open(worktree.path()).unwrap();
        }
    }
    assert!(!fixture.canary().exists());
    require_git_to_run_it(&fixture, &own);
}

/// A configuration that a pointer leads to may name another worktree, to which a checkout would
/// write.
#[test]
fn a_worktree_elsewhere_is_not_written() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let (own, elsewhere) = (fixture.path().join("own"), fixture.path().join("elsewhere"));
    for folder in [&own, &elsewhere] {
        std::fs::create_dir(folder).unwrap();
    }
    git_in(&own, &["init", "-q"]);
    write_files(&own, &[("file", "work\n")]);
    git_in(&own, &["add", "-A"]);
    git_in(
        &own,
        &["config", "core.worktree", elsewhere.to_str().unwrap()],
    );
    let pointer = format!("gitdir: {}\n", own.join(".git").display());
    std::fs::write(worktree.path().join(".git"), pointer).unwrap();
    let error = everything(&fixture, &repo, &worktree).unwrap_err();
    assert!(
        matches!(&error, GitError::Tampered { what, .. } if *what == ".git"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    // The control: git itself follows both.
    git_in(worktree.path(), &["checkout-index", "-a", "-f"]);
    assert!(elsewhere.join("file").exists());
}

#[test]
fn attributes_and_local_drivers_run_nothing() {
    let fixture = Fixture::new(&[("a", "1\n"), ("file", "base\n")]);
    let planted = fixture.planted();
    let hooks = fixture.project().join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "reference-transaction",
        "pre-commit",
        "post-index-change",
    ] {
        std::fs::copy(&planted, hooks.join(hook)).unwrap();
        std::fs::set_permissions(hooks.join(hook), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    for key in [
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "merge.x.driver",
        "diff.x.textconv",
        "core.fsmonitor",
    ] {
        fixture.git(&["config", key, planted.to_str().unwrap()]);
    }
    let base = fixture.tip("HEAD");
    std::fs::remove_file(fixture.canary()).ok();
    let repo = fixture.repo();
    let worktree = repo
        .worktrees()
        .add(&WorktreeSpec {
            base: base.clone(),
            path: fixture.path().join("worktrees/T1"),
            branch: Some("orchestrate/r-test01/T1".to_owned()),
            lock_reason: "test".to_owned(),
            times: None,
        })
        .unwrap();
    write_files(worktree.path(), &[("file", "agent\n")]);
    let plain = fixture.commit(&repo, &worktree, &[&base]);
    write_files(
        worktree.path(),
        &[
            (".gitattributes", "* merge=x diff=x filter=x\n"),
            ("file", "more\n"),
        ],
    );
    assert!(matches!(
        repo.store().snapshot(&worktree, &SnapshotRules::default()),
        Err(GitError::FilterAsked { .. })
    ));
    write_files(worktree.path(), &[(".gitattributes", "* merge=x diff=x\n")]);
    let with_driver = fixture.commit(&repo, &worktree, &[&base]);
    let merge = repo.merging().merge(&with_driver, &plain).unwrap();
    assert!(
        matches!(merge, orchestrate_git::Merge::Conflict { .. }),
        "a driver decided: {merge:?}"
    );
    repo.store().status(&worktree).unwrap();
    assert!(!fixture.canary().exists());
    require_git_to_run_it(&fixture, worktree.path());
}

#[test]
fn links_lead_nowhere() {
    let fixture = Fixture::new(&[("folder/file", "1\n"), ("a", "1\n"), ("b", "2\n")]);
    let outside = fixture.path().join("outside");
    write_files(&outside, &[("file", "secret\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    std::fs::remove_dir_all(worktree.path().join("folder")).unwrap();
    std::os::unix::fs::symlink(&outside, worktree.path().join("folder")).unwrap();
    std::os::unix::fs::symlink(outside.join("file"), worktree.path().join("link")).unwrap();
    // The control: a process that follows the links reads what is outside.
    for link in ["folder/file", "link"] {
        assert_eq!(read(worktree.path().join(link)), "secret\n");
    }
    let snapshot = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap();
    let files = fixture.files_of(&snapshot.tree);
    assert!(
        files
            .values()
            .all(|(_, content)| !content.contains("secret")),
        "{files:?}"
    );
    assert_eq!(files[b"folder".as_slice()].0, "120000");
    let commit = repo
        .commit(&commit_spec(snapshot.tree, &[&fixture.tip("HEAD")]))
        .unwrap();
    // The other side changes the file behind the link: it is written into the worktree, not through
    // the link.
    let target = fixture.commit_files(&[("folder/file", "2\n")], "target");
    repo.merging()
        .write_conflict(
            &worktree,
            &target,
            &commit,
            "refs/orchestrate/keep/r-test01/T1/conflict",
        )
        .unwrap();
    assert_eq!(read(outside.join("file")), "secret\n");
}

#[test]
fn rules_that_are_no_plain_files_are_refused() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    for name in [".gitignore", ".gitattributes"] {
        let path = worktree.path().join(name);
        make_pipe(&path);
        write_files(worktree.path(), &[("a", name)]);
        let error = repo
            .store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap_err();
        assert!(matches!(error, GitError::Unstorable { .. }), "{error}");
        std::fs::remove_file(&path).unwrap();
        // The control: a regular file of the same name is accepted.
        write_files(worktree.path(), &[(name, "# nothing\n")]);
        repo.store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap();
        std::fs::remove_file(path).unwrap();
    }
}
