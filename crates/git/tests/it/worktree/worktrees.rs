//! Worktrees: created, taken over, repaired and removed, without touching anything of the user's.

use std::path::{Path, PathBuf};

use orchestrate_git::{
    GitError, Removed, RepositoryRefusal, SnapshotRules, Worktree, WorktreeSpec,
};
use orchestrate_sandbox::Cancel;

use crate::support::{Fixture, command, commit_spec, git_in, read, write_files};

#[test]
fn a_worktree_is_made_and_taken_over() {
    let fixture = Fixture::new(&[("a", "1\n"), ("dir/b", "2\n")]);
    let repo = fixture.repo();
    let before = fixture.users_state();
    let worktree = fixture.worktree(&repo, "T1");
    assert_eq!(worktree.branch(), Some("orchestrate/r-test01/T1"));
    assert_eq!(read(worktree.path().join("dir/b")), "2\n");
    assert_eq!(fixture.users_state(), before);
    assert_eq!(git_in(worktree.path(), &["status", "--porcelain"]), "");
    let reason = read(worktree.admin_dir().join("locked"));
    assert_eq!(reason.trim(), "orchestrate r-test01");
    write_files(worktree.path(), &[("a", "changed\n")]);
    let again = fixture.worktree(&repo, "T1");
    assert_eq!(again.admin_dir(), worktree.admin_dir());
    assert_eq!(read(again.path().join("a")), "changed\n");
    let opened = repo.worktrees().open(worktree.path()).unwrap();
    assert_eq!(opened.admin_dir(), worktree.admin_dir());
}

#[test]
fn a_worktree_deleted_by_hand_is_made_again_from_its_branch() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("a", "work\n")]);
    fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    std::fs::remove_dir_all(worktree.path()).unwrap();
    assert!(matches!(
        repo.worktrees().open(worktree.path()),
        Err(GitError::NoWorktree { .. })
    ));
    assert!(matches!(
        worktree.verify_untampered(),
        Err(GitError::NoWorktree { .. })
    ));
    let again = fixture.worktree(&repo, "T1");
    assert_eq!(read(again.path().join("a")), "work\n");
    assert!(matches!(
        worktree.verify_untampered(),
        Err(GitError::NoWorktree { .. })
    ));
}

#[test]
fn an_entry_deleted_by_hand_is_made_again_and_the_files_stay() {
    let files = [("a", "1\n"), ("b", "1\n"), (".gitignore", "ignored\n")];
    for half in [false, true] {
        let fixture = Fixture::new(&files);
        let repo = fixture.repo();
        let (before, worktree) = (fixture.users_state(), fixture.worktree(&repo, "T1"));
        write_files(
            worktree.path(),
            &[("a", "work\n"), ("new", "work\n"), ("ignored", "kept\n")],
        );
        std::fs::remove_file(worktree.path().join("b")).unwrap();
        match half {
            true => std::fs::remove_file(worktree.admin_dir().join("HEAD")).unwrap(),
            false => std::fs::remove_dir_all(fixture.project().join(".git/worktrees")).unwrap(),
        }
        let again = fixture.worktree(&repo, "T1");
        assert_eq!(
            (again.admin_dir(), again.branch()),
            (worktree.admin_dir(), worktree.branch())
        );
        assert_eq!(
            git_in(again.path(), &["status", "--porcelain"]),
            " M a\n D b\n?? new"
        );
        assert_eq!(read(again.path().join("ignored")), "kept\n");
        assert_eq!(
            read(again.admin_dir().join("locked")).trim(),
            "orchestrate r-test01"
        );
        let commit = fixture.commit(&repo, &again, &[&fixture.tip("HEAD")]);
        assert_eq!(fixture.files_of(&commit)[b"a".as_slice()].1, "work\n");
        assert!(
            fixture.users_state() == before,
            "something of the user's changed"
        );
        fixture.git(&["worktree", "list"]);
    }
}

#[test]
fn what_a_restored_entry_tracks_may_be_ignored() {
    let fixture = Fixture::new(&[("a", "1\n"), (".gitignore", "ignored\n")]);
    let (repo, spec) = (fixture.repo(), fixture.spec("T1"));
    let worktree = fixture.worktree(&repo, "T1");
    write_files(&fixture.project(), &[("ignored", "tracked\n")]);
    fixture.git(&["add", "-f", "ignored"]);
    let theirs = fixture.commit_files(&[], "theirs");
    write_files(worktree.path(), &[("ignored", "merged\n")]);
    repo.worktrees().restore_entry(&spec, &theirs).unwrap();
    assert!(
        !fixture
            .files_of(&repo.store().current_tree(&worktree).unwrap())
            .contains_key(b"ignored".as_slice())
    );
    std::fs::remove_dir_all(worktree.admin_dir()).unwrap();
    repo.worktrees().restore_entry(&spec, &theirs).unwrap();
    let tree = repo
        .store()
        .current_tree(&repo.worktrees().open(worktree.path()).unwrap())
        .unwrap();
    assert_eq!(fixture.files_of(&tree)[b"ignored".as_slice()].1, "merged\n");
}

#[test]
fn a_folder_that_names_an_entry_of_somebody_elses_is_not_taken_over() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let entries = worktree.admin_dir().parent().unwrap();
    let below = |name: &str| format!("{}/{name}", entries.display());
    let names = [
        "T2",
        "T",
        "T1x",
        "T1-1",
        "..",
        ".",
        "",
        "T1/",
        "T1/x",
        "T1/../T2",
        "../worktrees/T2",
        "/T1",
    ];
    for named in names
        .map(below)
        .into_iter()
        .chain(["/nowhere/T1".to_owned()])
    {
        std::fs::remove_dir_all(entries).ok();
        write_files(worktree.path(), &[(".git", &format!("gitdir: {named}\n"))]);
        let refused = repo.worktrees().add(&fixture.spec("T1"));
        assert!(
            matches!(&refused, Err(GitError::PathInUse { .. })),
            "{named}: {refused:?}"
        );
        assert!(!entries.exists(), "{named}");
        assert_eq!(read(worktree.path().join("a")), "1\n");
    }
}

#[test]
fn an_entry_that_git_gave_digits_is_made_again() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let taken = fixture.project().join(".git/worktrees/T1");
    std::fs::create_dir_all(&taken).unwrap();
    let worktree = fixture.worktree(&repo, "T1");
    assert_eq!(worktree.admin_dir().file_name(), Some("T11".as_ref()));
    std::fs::remove_dir_all(worktree.admin_dir()).unwrap();
    assert_eq!(
        fixture.worktree(&repo, "T1").admin_dir(),
        worktree.admin_dir()
    );
}

#[test]
fn the_entry_of_a_folder_that_is_gone_is_forgotten() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let (gone, left) = (fixture.worktree(&repo, "T1"), fixture.worktree(&repo, "T2"));
    std::fs::remove_dir_all(gone.path()).unwrap();
    assert!(repo.worktrees().forget(gone.path(), false).unwrap());
    assert!(gone.admin_dir().exists(), "it was only asked about");
    assert!(repo.worktrees().forget(gone.path(), true).unwrap());
    assert!(!gone.admin_dir().exists());
    assert!(!repo.worktrees().forget(gone.path(), true).unwrap());
    assert!(
        !repo.worktrees().forget(left.path(), true).unwrap(),
        "its folder is there"
    );
    std::fs::remove_dir_all(left.path().parent().unwrap()).unwrap();
    assert!(repo.worktrees().forget(left.path(), true).unwrap());
    assert_eq!(
        fixture
            .git(&["worktree", "list", "--porcelain"])
            .matches("worktree ")
            .count(),
        1
    );
}

#[test]
fn half_made_entries_are_healed_and_foreign_ones_named() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let entries = fixture.project().join(".git/worktrees");
    for (id, reason) in [
        ("T1", "orchestrate r-test01 pid 1"),
        ("theirs", "initializing"),
    ] {
        write_files(&entries.join(id), &[("locked", reason), ("commondir", "")]);
    }
    let found = repo
        .worktrees()
        .reconcile(&|reason| reason.starts_with("orchestrate r-test01"))
        .unwrap();
    assert_eq!(
        (found.removed, found.foreign),
        (vec![entries.join("T1")], vec![entries.join("theirs")])
    );
    std::fs::remove_dir_all(entries.join("theirs")).unwrap();
}

#[test]
fn a_worktree_that_was_killed_while_git_made_it_is_made_again() {
    let pointers = ["gitdir: ENTRY\n", "gitdir: ENTRY", "gitdir: /", ""];
    for (whole, pointer) in ["gitdir", ""]
        .into_iter()
        .flat_map(|whole| pointers.map(|pointer| (whole, pointer)))
    {
        let fixture = Fixture::new(&[("a", "1\n")]);
        let repo = fixture.repo();
        let spec = fixture.spec("T1");
        let entry = fixture.project().join(".git/worktrees/T1");
        let gitdir = format!("{}/.git\n", spec.path.display());
        let pointer = pointer.replace("ENTRY", &entry.display().to_string());
        write_files(&spec.path, &[(".git", &pointer)]);
        if !whole.is_empty() {
            write_files(
                &entry,
                &[
                    ("locked", &spec.lock_reason),
                    (whole, &gitdir),
                    ("commondir", ""),
                ],
            );
        }
        let worktree = repo
            .worktrees()
            .add(&spec)
            .unwrap_or_else(|error| panic!("{whole:?} {pointer:?}: {error}"));
        assert_eq!(read(worktree.path().join("a")), "1\n");
    }
}

/// Older git creates an entry with a HEAD of zeros, and sets it to the branch in a process of its
/// own.
#[test]
fn a_worktree_that_was_killed_before_git_set_its_head_is_made_again() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let spec = fixture.spec("T1");
    let entry = fixture.project().join(".git/worktrees/T1");
    let (gitdir, pointer) = (
        format!("{}/.git\n", spec.path.display()),
        format!("gitdir: {}\n", entry.display()),
    );
    let head = format!("{}\n", "0".repeat(40));
    let made = [
        ("locked", spec.lock_reason.as_str()),
        ("gitdir", &gitdir),
        ("commondir", "../..\n"),
        ("HEAD", &head),
    ];
    write_files(&entry, &made);
    write_files(&spec.path, &[(".git", &pointer)]);
    let worktree = repo.worktrees().add(&spec).unwrap();
    assert_eq!(read(worktree.path().join("a")), "1\n");
    assert_eq!(worktree.branch(), spec.branch.as_deref());
}

#[test]
fn a_worktree_that_was_killed_before_it_had_files_is_filled() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let spec = fixture.spec("T2");
    let path = spec.path.to_str().unwrap().to_owned();
    std::fs::create_dir_all(spec.path.parent().unwrap()).unwrap();
    let branch = spec.branch.clone().unwrap();
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        "--no-checkout",
        "-b",
        &branch,
        &path,
    ]);
    let worktree = repo.worktrees().add(&spec).unwrap();
    assert_eq!(read(worktree.path().join("a")), "1\n");
}

#[test]
fn left_locks_of_ours_are_removed() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let refs = fixture.project().join(".git/refs");
    let left = [
        "heads/orchestrate/r-test01/T1.lock",
        "orchestrate/keep/r-test01/T1/1.lock",
    ];
    let others = ["heads/users.lock", "heads/orchestrate/r-other1/T1.lock"];
    for path in left.iter().chain(&others) {
        write_files(&refs, &[(path, "")]);
    }
    write_files(
        worktree.admin_dir(),
        &[("index.lock", ""), ("HEAD.lock", "")],
    );
    // The control: as long as they are there, neither the branch nor the index can be written.
    let (tip, branch) = (fixture.tip("HEAD"), "refs/heads/orchestrate/r-test01/T1");
    let next = repo
        .commit(&commit_spec(repo.tree_of(&tip).unwrap(), &[&tip]))
        .unwrap();
    let locked = repo.advance(branch, Some(&tip), &next).unwrap_err();
    assert!(
        matches!(&locked, GitError::Locked { path } if *path == refs.join(left[0])),
        "{locked}"
    );
    assert!(
        !command(worktree.path(), &["add", "-A"])
            .output()
            .unwrap()
            .status
            .success()
    );
    let found = repo
        .worktrees()
        .reconcile(&|reason| reason.starts_with("orchestrate r-test01"))
        .unwrap();
    let of_worktree = ["index.lock", "HEAD.lock"].map(|name| worktree.admin_dir().join(name));
    let of_refs = left.map(|path| refs.join(path));
    assert_eq!(found.removed, [of_worktree, of_refs].concat());
    assert!(others.iter().all(|path| refs.join(path).exists()));
    write_files(worktree.path(), &[("a", "work\n")]);
    git_in(worktree.path(), &["add", "-A"]);
    fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
}

#[test]
fn a_user_who_packs_prunes_and_cleans_loses_no_work() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let [there, gone] = ["T1", "T2"].map(|name| fixture.worktree(&repo, name));
    for worktree in [&there, &gone] {
        write_files(worktree.path(), &[("a", "work\n")]);
        fixture.commit(&repo, worktree, &[&fixture.tip("HEAD")]);
    }
    write_files(there.path(), &[("new", "not committed\n")]);
    let own = fixture.path().join("own");
    fixture.git(&["worktree", "add", "-q", "--detach", own.to_str().unwrap()]);
    for folder in [gone.path(), &own] {
        std::fs::remove_dir_all(folder).unwrap();
    }
    let typed: [&[&str]; 4] = [
        &["gc", "-q", "--prune=now"],
        &["worktree", "prune", "--expire=now"],
        &["clean", "-q", "-ffdx"],
        &["switch", "-q", "-c", "elsewhere"],
    ];
    for command in typed {
        fixture.git(command);
    }
    // The control: git has forgotten the user's own worktree, which went the same way as that of
    // T2.
    let entries = fixture.project().join(".git/worktrees");
    assert_eq!(
        ["T1", "T2", "own"].map(|name| entries.join(name).exists()),
        [true, true, false]
    );
    let text_of = |worktree: &Worktree, name: &str| read(worktree.path().join(name));
    let [there, gone] = ["T1", "T2"].map(|name| fixture.worktree(&repo, name));
    assert_eq!(
        [
            text_of(&there, "a"),
            text_of(&there, "new"),
            text_of(&gone, "a")
        ],
        ["work\n", "not committed\n", "work\n"]
    );
}

#[test]
fn what_is_in_the_way_is_refused() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let spec = fixture.spec("T1");
    write_files(&spec.path, &[("file", "mine")]);
    assert!(matches!(
        repo.worktrees().add(&spec),
        Err(GitError::PathInUse { .. })
    ));
    let inside = WorktreeSpec {
        path: fixture.project().join("inside"),
        ..fixture.spec("T2")
    };
    assert!(matches!(
        repo.worktrees().add(&inside),
        Err(GitError::Refused {
            refusal: RepositoryRefusal::HoldsState { .. },
            ..
        })
    ));
    let checked_out = WorktreeSpec {
        branch: Some("main".to_owned()),
        ..fixture.spec("T3")
    };
    let error = repo.worktrees().add(&checked_out).unwrap_err();
    assert!(
        matches!(&error, GitError::BranchInUse { path, .. } if *path == fixture.project()),
        "{error}"
    );
}

#[test]
fn what_is_said_of_a_branch_in_a_detached_worktree_detaches_it() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let (worktree, base) = (fixture.worktree(&repo, "T1"), fixture.tip("HEAD"));
    write_files(worktree.path(), &[("a", "work\n")]);
    let refused = repo
        .worktrees()
        .checkout_detached(&worktree, &base)
        .unwrap_err();
    assert!(
        matches!(&refused, GitError::NotDetached { path, .. } if path == worktree.path()),
        "{refused}"
    );
    let command = format!("git -C {} switch --detach", worktree.path().display());
    assert!(
        refused.to_string().contains(&format!("`{command}`")),
        "{refused}"
    );
    assert_eq!(read(worktree.path().join("a")), "work\n");
    git_in(worktree.path(), &["switch", "-q", "--detach"]);
    repo.worktrees()
        .checkout_detached(&repo.worktrees().open(worktree.path()).unwrap(), &base)
        .unwrap();
    assert_eq!(read(worktree.path().join("a")), "1\n");
}

#[test]
fn what_is_said_of_unkept_work_keeps_it() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("new", "precious\n")]);
    let refused = repo
        .worktrees()
        .remove(&worktree, &fixture.trash())
        .unwrap_err()
        .to_string();
    for arguments in [
        &["switch", "-q", "-c", "NAME"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "mine"],
    ] {
        let said: Vec<&str> = arguments
            .iter()
            .copied()
            .filter(|word| !matches!(*word, "-q" | "-m" | "mine"))
            .collect();
        assert!(
            refused.contains(&format!("`git {}`", said.join(" "))),
            "{refused}"
        );
        git_in(worktree.path(), arguments);
    }
    let again = repo.worktrees().open(worktree.path()).unwrap();
    repo.worktrees()
        .remove(&again, &fixture.trash())
        .unwrap()
        .delete()
        .unwrap();
    assert_eq!(fixture.git(&["show", "NAME:new"]).trim_end(), "precious");
}

#[test]
fn only_kept_work_is_removed() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(
        worktree.path(),
        &[("a", "precious\n"), ("new", "precious\n")],
    );
    let refused = repo.worktrees().remove(&worktree, &fixture.trash());
    assert!(matches!(refused, Err(GitError::Unkept { .. })));
    assert_eq!(read(worktree.path().join("new")), "precious\n");
    let snapshot = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap();
    let commit = repo
        .commit(&commit_spec(snapshot.tree, &[&fixture.tip("HEAD")]))
        .unwrap();
    repo.keep("refs/orchestrate/keep/r-test01/T1/1", &commit)
        .unwrap();
    // A ref counts only if all its objects exist.
    let blob = fixture.git(&["rev-parse", &format!("{commit}:new")]);
    let (fan_out, rest) = blob.trim_end().split_at(2);
    let object = fixture
        .project()
        .join(".git/objects")
        .join(fan_out)
        .join(rest);
    std::fs::rename(&object, fixture.path().join("object")).unwrap();
    assert!(matches!(
        repo.worktrees().remove(&worktree, &fixture.trash()),
        Err(GitError::Unkept { .. })
    ));
    std::fs::rename(fixture.path().join("object"), &object).unwrap();
    // The control: the same worktree is removed once all of its files are kept.
    let removed = repo
        .worktrees()
        .remove(&worktree, &fixture.trash())
        .unwrap();
    assert!(removed.trashed.as_ref().unwrap().join("T1/new").exists());
    removed.delete().unwrap();
    assert!(!worktree.path().exists() && !worktree.admin_dir().exists());
    let again = repo
        .worktrees()
        .discard(worktree.path(), &fixture.trash())
        .unwrap();
    assert_eq!(again, Removed { trashed: None });
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 1);
    // The snapshot outlives the worktree, and `git gc` too.
    fixture.git(&["gc", "-q", "--prune=now"]);
    repo.restore(&commit, "rescued").unwrap();
    assert_eq!(fixture.git(&["show", "rescued:new"]), "precious");
}

#[test]
fn the_verifier_keeps_ignored_files_and_loses_strays() {
    let fixture = Fixture::new(&[("a", "1\n"), (".gitignore", "target/\n"), ("old/x", "1\n")]);
    let repo = fixture.repo();
    let spec = WorktreeSpec {
        branch: None,
        ..fixture.spec("verifier")
    };
    let verifier = repo.worktrees().add(&spec).unwrap();
    write_files(
        verifier.path(),
        &[
            ("target/cache", "kept"),
            ("stray/deep/file", "x"),
            ("a", "spoilt"),
            ("cloned/.git/HEAD", "x"),
        ],
    );
    std::fs::remove_file(fixture.project().join("old/x")).unwrap();
    let next = fixture.commit_files(&[("b", "2\n")], "second");
    repo.worktrees()
        .checkout_detached(&verifier, &next)
        .unwrap();
    assert_eq!(git_in(verifier.path(), &["status", "--porcelain"]), "");
    assert_eq!(repo.worktrees().head(&verifier).unwrap(), next);
    let mut names: Vec<String> = std::fs::read_dir(verifier.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".git", ".gitignore", "a", "b", "target"]);
    let cache = verifier.path().join("target/cache");
    assert_eq!(read(cache), "kept");
    let tree = repo.tree_of(&spec.base).unwrap();
    repo.worktrees()
        .checkout_detached(&verifier, &tree)
        .unwrap();
    assert_eq!(repo.store().current_tree(&verifier).unwrap(), tree);
}

#[test]
fn a_new_attempt_starts_from_another_commit() {
    let fixture = Fixture::new(&[("a", "1\n"), (".gitignore", "cache\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(
        worktree.path(),
        &[("mine", "1\n"), ("cache", "kept"), ("inner/file", "1\n")],
    );
    // The commits of this repository are stored nowhere else.
    git_in(&worktree.path().join("inner"), &["init", "-q"]);
    git_in(&worktree.path().join("inner"), &["add", "-A"]);
    git_in(
        &worktree.path().join("inner"),
        &["commit", "-q", "-m", "inner"],
    );
    let first = fixture.commit(&repo, &worktree, &[&fixture.tip("HEAD")]);
    let tip = fixture.commit_files(&[("b", "2\n")], "merged");
    for _ in 0..2 {
        repo.worktrees().restart(&worktree, &first, &tip).unwrap();
        assert_eq!(
            repo.store().current_tree(&worktree).unwrap(),
            repo.tree_of(&tip).unwrap()
        );
    }
    assert_eq!(read(worktree.path().join("cache")), "kept");
    assert_eq!(
        git_in(&worktree.path().join("inner"), &["show", "HEAD:file"]),
        "1"
    );
    assert_eq!(fixture.tip("orchestrate/r-test01/T1"), tip);
}

#[test]
fn sixteen_worktrees_are_made_at_once() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let specs: Vec<WorktreeSpec> = (0..16).map(|at| fixture.spec(&format!("T{at}"))).collect();
    std::thread::scope(|scope| {
        for spec in &specs {
            let repo = repo.clone();
            scope.spawn(move || repo.worktrees().add(spec).unwrap());
        }
    });
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 17);
}

#[test]
fn named_ignored_files_are_copied() {
    let fixture = Fixture::new(&[
        (".gitignore", ".env\nbuild/\n"),
        (".worktreeinclude", ".env\nbuild/keep\ntracked\nnew\n"),
        ("tracked", "1\n"),
    ]);
    write_files(
        &fixture.project(),
        &[
            (".env", "KEY=1\n"),
            ("build/keep", "2"),
            ("build/other", "3"),
            ("new", "4"),
        ],
    );
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let copied = repo.worktrees().copy_included(&worktree).unwrap();
    assert_eq!(copied, [".env", "build/keep"].map(PathBuf::from));
    assert_eq!(read(worktree.path().join(".env")), "KEY=1\n");
    assert_eq!(
        repo.worktrees().copy_included(&worktree).unwrap(),
        Vec::<PathBuf>::new()
    );
    assert!(
        !repo
            .store()
            .snapshot(&worktree, &SnapshotRules::default())
            .unwrap()
            .changed
    );
}

#[test]
fn what_no_tree_holds_is_listed() {
    let fixture = Fixture::new(&[
        ("a", "1\n"),
        (".gitignore", "*.log\nbuild/\nempty/\n"),
        ("sub/b", "2\n"),
    ]);
    write_files(
        &fixture.project(),
        &[
            ("copied.log", "same\n"),
            ("other.log", "mine\n"),
            ("build/same", "1"),
        ],
    );
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    assert_eq!(
        repo.worktrees().uncommitted(&worktree).unwrap(),
        Vec::<PathBuf>::new()
    );
    write_files(
        worktree.path(),
        &[
            ("copied.log", "same\n"),
            ("build/same", "1"),
            ("new", "not ignored\n"),
        ],
    );
    std::fs::create_dir(worktree.path().join("empty")).unwrap();
    assert_eq!(
        repo.worktrees().uncommitted(&worktree).unwrap(),
        Vec::<PathBuf>::new()
    );
    let lost = [
        ("other.log", "agent's\n"),
        ("sub/deep.log", "x"),
        ("build/out/deep", "x"),
        ("cloned/.git/HEAD", "x"),
    ];
    write_files(worktree.path(), &lost);
    std::os::unix::fs::symlink("a", worktree.path().join("link.log")).unwrap();
    let uncommitted = [
        "build/",
        "cloned/.git/",
        "link.log",
        "other.log",
        "sub/deep.log",
    ]
    .map(PathBuf::from);
    assert_eq!(
        repo.worktrees().uncommitted(&worktree).unwrap(),
        uncommitted
    );
    let ignored = ["other.log", "sub/deep.log", "build/out/deep", "link.log"];
    let stored = ["a", "sub/b", "new", "sub/not-there"];
    for (path, expected) in ignored
        .map(|path| (path, true))
        .into_iter()
        .chain(stored.map(|path| (path, false)))
    {
        assert_eq!(
            repo.worktrees().ignores(&worktree, path.as_ref()).unwrap(),
            expected,
            "{path}"
        );
    }
}

#[test]
fn neither_caches_nor_copies_that_nothing_has_changed_are_only_here() {
    let files = [
        ("a", "1\n"),
        (".gitignore", "*.log\n__pycache__/\ndeps/\n"),
        (".worktreeinclude", "*.log\ndeps/\n"),
    ];
    let fixture = Fixture::new(&files);
    let mine = [("one.log", "1\n"), ("two.log", "2\n"), ("deps/lib", "l\n")];
    let theirs = "changed since\n";
    write_files(&fixture.project(), &mine);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    repo.worktrees().copy_included(&worktree).unwrap();
    let uncommitted = || repo.worktrees().uncommitted(&worktree).unwrap();
    // The user's own files go on, and so does a program that keeps a cache.
    write_files(&fixture.project(), &[("one.log", theirs)]);
    std::fs::remove_file(fixture.project().join("two.log")).unwrap();
    std::fs::remove_dir_all(fixture.project().join("deps")).unwrap();
    write_files(
        worktree.path(),
        &[
            ("__pycache__/a.pyc", "c"),
            ("src/__pycache__/b.pyc", "c"),
            ("deps/__pycache__/c", "c"),
        ],
    );
    assert_eq!(uncommitted(), Vec::<PathBuf>::new());
    // The control: what was changed or made here exists nowhere else, however alike it looks.
    write_files(worktree.path(), &[("two.log", "9\n"), ("deps/made", "m\n")]);
    assert_eq!(uncommitted(), ["deps/", "two.log"].map(PathBuf::from));
}

#[test]
fn what_is_tracked_in_an_ignored_folder_is_stored() {
    let fixture = Fixture::new(&[("build/kept", "1\n")]);
    fixture.commit_files(&[(".gitignore", "build/\n")], "ignored since");
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    write_files(worktree.path(), &[("build/kept", "2\n")]);
    assert_eq!(
        repo.worktrees().uncommitted(&worktree).unwrap(),
        Vec::<PathBuf>::new()
    );
    write_files(worktree.path(), &[("build/made", "1\n")]);
    assert_eq!(
        repo.worktrees().uncommitted(&worktree).unwrap(),
        [PathBuf::from("build/")]
    );
    let ignored = ["build/kept", "build/made"]
        .map(|path| repo.worktrees().ignores(&worktree, path.as_ref()).unwrap());
    assert_eq!(ignored, [false, true]);
}

#[test]
fn a_checkout_that_was_sparse_once_has_plain_worktrees() {
    let fixture = Fixture::new(&[("a/one", "1\n"), ("b/two", "2\n")]);
    fixture.git(&["sparse-checkout", "set", "--cone", "a"]);
    fixture.git(&["sparse-checkout", "disable"]);
    assert_eq!(
        fixture.git(&["config", "extensions.worktreeConfig"]),
        "true"
    );
    let users = std::fs::read(fixture.project().join(".git/config.worktree")).unwrap();
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    assert!(worktree.path().join("b/two").exists());
    repo.worktrees()
        .add(&fixture.spec("T1"))
        .unwrap()
        .verify_untampered()
        .unwrap();
    assert_eq!(
        std::fs::read(fixture.project().join(".git/config.worktree")).unwrap(),
        users
    );
}

/// Deeper than the longest path, and than the walk for files to store.
const DEEP: usize = 2_300;

/// Creates nested folders, and returns the deepest.
fn deep(top: &Path) -> std::os::fd::OwnedFd {
    use rustix::fs::{Mode, OFlags};
    std::fs::create_dir(top).unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here = rustix::fs::open(top, flags, Mode::empty()).unwrap();
    for _ in 0..DEEP {
        rustix::fs::mkdirat(&here, "d", Mode::from_raw_mode(0o755)).unwrap();
        here = rustix::fs::openat(&here, "d", flags, Mode::empty()).unwrap();
    }
    here
}

#[test]
fn folders_of_any_depth_are_passed_over_and_removed() {
    use rustix::fs::{Mode, OFlags};
    let fixture = Fixture::new(&[("a", "1\n"), (".gitignore", "built\n")]);
    let repo = fixture.repo();
    let worktree = fixture.worktree(&repo, "T1");
    let deepest = deep(&worktree.path().join("empty"));
    let snapshot = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap();
    assert!(!snapshot.changed);
    // A folder with a file is not skipped, even if git could never check it out.
    drop(
        rustix::fs::openat(
            &deepest,
            "file",
            OFlags::CREATE | OFlags::WRONLY,
            Mode::from_raw_mode(0o644),
        )
        .unwrap(),
    );
    let error = repo
        .store()
        .snapshot(&worktree, &SnapshotRules::default())
        .unwrap_err();
    assert!(
        matches!(&error, GitError::TooLarge { path, .. } if path.ends_with("empty")),
        "{error}"
    );
    std::fs::rename(worktree.path().join("empty"), worktree.path().join("built")).unwrap();
    assert_eq!(
        repo.worktrees().uncommitted(&worktree).unwrap(),
        [PathBuf::from("built/")]
    );
    repo.worktrees()
        .remove(&worktree, &fixture.trash())
        .unwrap()
        .delete()
        .unwrap();
    assert_eq!(std::fs::read_dir(fixture.trash()).unwrap().count(), 0);
}

#[test]
fn what_is_killed_starts_no_git_and_whoever_comes_next_goes_on() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let (repo, cancel) = (fixture.repo(), Cancel::new());
    let of_run = repo.killed_by(&cancel);
    // A request to end without a kill lets git store the results.
    cancel.cancel();
    let worktree = of_run.worktrees().add(&fixture.spec("T1")).unwrap();
    let tip = fixture.tip("HEAD");
    write_files(worktree.path(), &[("a", "2\n")]);
    cancel.kill();
    assert!(matches!(
        of_run.worktrees().add(&fixture.spec("T2")),
        Err(GitError::Killed)
    ));
    assert!(matches!(
        of_run.worktrees().restart(&worktree, &tip, &tip),
        Err(GitError::Killed)
    ));
    let commit = fixture.commit(&of_run, &worktree, &[&tip]);
    assert_eq!(read(fixture.worktree(&repo, "T1").path().join("a")), "2\n");
    assert!(
        repo.worktrees().add(&fixture.spec("T2")).is_ok() && repo.contains(&commit, &tip).unwrap()
    );
}
