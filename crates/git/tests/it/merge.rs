//! Merging without a checkout, and the refs and history around it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use orchestrate_core::{Oid, RunId};
use orchestrate_git::{CommitSpec, ConflictFile, GitError, Merge, RefEntry};

use crate::support::{Fixture, command, commit_spec, write_files};

const KEPT: &str = "refs/orchestrate/keep/r-test01/T1/merge";
const INTEGRATION: &str = "refs/heads/orchestrate/r-test01/integration";

/// Creates a branch at the first commit, and a commit on it with these files.
fn side(fixture: &Fixture, name: &str, files: &[(&str, &str)]) -> Oid {
    fixture.git(&["switch", "-q", "-c", name, "main"]);
    let tip = fixture.commit_files(files, name);
    fixture.git(&["switch", "-q", "main"]);
    tip
}

#[test]
fn a_clean_merge_is_held_by_its_commit() {
    let fixture = Fixture::new(&[("a", "1\n"), ("b", "1\n")]);
    let one = side(&fixture, "one", &[("a", "2\n")]);
    let two = side(&fixture, "two", &[("b", "2\n")]);
    let repo = fixture.repo();
    let before = fixture.users_state();
    let merge = repo.merging().merge(&one, &two).unwrap();
    let Merge::Clean { tree } = &merge else {
        panic!("{merge:?}")
    };
    assert_eq!(fixture.users_state(), before);
    let commit = commit_spec(tree.clone(), &[&one, &two]);
    repo.keep(KEPT, &repo.commit(&commit).unwrap()).unwrap();
    fixture.git(&["gc", "-q", "--prune=now"]);
    let contents: Vec<String> = fixture
        .files_of(tree)
        .into_values()
        .map(|(_, content)| content)
        .collect();
    assert_eq!(contents, ["2\n", "2\n"]);
    assert_eq!(repo.merging().merge(&one, &two).unwrap(), merge);
}

#[test]
fn what_was_built_on_the_target_is_merged_as_git_does() {
    let fixture = Fixture::new(&[("a", "1\n"), ("folder/b", "1\n"), ("gone", "1\n")]);
    let repo = fixture.repo();
    let target = side(
        &fixture,
        "target",
        &[("folder/b", "2\n"), (".gitattributes", "* merge=union\n")],
    );
    fixture.git(&["switch", "-q", "-c", "built", "target"]);
    fixture.git(&["mv", "folder", "moved"]);
    fixture.git(&["rm", "-q", "gone"]);
    fixture.commit_files(&[("a", "2\n")], "first");
    let built = fixture.commit_files(&[("moved/b", "3\n")], "second");
    let Merge::Clean { tree } = repo.merging().merge(&target, &built).unwrap() else {
        panic!("a conflict")
    };
    assert_eq!(
        tree.as_str(),
        fixture.git(&["merge-tree", "--write-tree", "target", "built"])
    );
}

#[test]
fn conflicts_are_listed_by_file_and_kind() {
    let fixture = Fixture::new(&[("both", "1\n"), ("gone", "1\n")]);
    let ours = [
        ("both", "one\n"),
        ("gone", "changed\n"),
        ("new", "one\n"),
        ("fine", "1\n"),
    ];
    let one = side(&fixture, "one", &ours);
    fixture.git(&["switch", "-q", "-c", "two", "main"]);
    std::fs::remove_file(fixture.project().join("gone")).unwrap();
    let two = fixture.commit_files(&[("both", "two\n"), ("new", "two\n")], "two");
    let merge = fixture.repo().merging().merge(&one, &two).unwrap();
    let Merge::Conflict {
        tree,
        files,
        messages,
    } = merge
    else {
        panic!("{merge:?}")
    };
    let file = |path: &str, kind: &str| ConflictFile {
        path: PathBuf::from(path),
        kind: kind.to_owned(),
    };
    assert_eq!(
        files,
        [
            file("both", "contents"),
            file("gone", "modify/delete"),
            file("new", "contents")
        ]
    );
    assert_eq!(messages.len(), 3, "{messages:?}");
    let stored = fixture.files_of(&tree);
    let both = &stored[b"both".as_slice()].1;
    assert!(
        both.starts_with("<<<<<<< integration\none\n||||||| "),
        "{both}"
    );
    assert!(
        both.ends_with("\n1\n=======\ntwo\n>>>>>>> yours\n"),
        "{both}"
    );
    // The control: a file that only one side has added is no conflict, and is in the tree as it is.
    assert_eq!(stored[b"fine".as_slice()].1, "1\n");
}

/// Changes files in ways that no text shows: names, bytes, kinds and modes.
const ONE: &str = "mv moved left; printf 'one\\0' > binary; ln -sf moved turned; ln -s moved place; \
                   echo one > added; echo run > script; chmod 755 script";
/// Changes the same files in other ways.
const TWO: &str = "mv moved right; printf 'two\\0' > binary; echo 2 > turned; mkdir place; echo 1 > place/in; \
                   echo two > added; echo run > script";
/// Changes the same files in the ways of [`ONE`], or where that leaves room for it.
const TWIN: &str = "printf '1\\n2\\n3\\n4\\nfive\\n' > moved; printf 'one\\0' > binary; ln -sf moved turned; \
                    ln -s moved place; mkdir beside; echo 1 > beside/in; echo one > added; echo run > script; \
                    chmod 755 script";

/// Creates a branch at the first commit, and a commit on it with what a script changes and a
/// submodule at a commit.
fn odd_side(fixture: &Fixture, name: &str, script: &str, module: &Oid) -> Oid {
    fixture.git(&["switch", "-q", "-c", name, "main"]);
    let mut shell = Command::new("sh");
    assert!(
        shell
            .args(["-ec", script])
            .current_dir(fixture.project())
            .status()
            .unwrap()
            .success()
    );
    fixture.git(&["add", "-A"]);
    fixture.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{module},module"),
    ]);
    fixture.git(&["commit", "-q", "-m", name]);
    fixture.git(&["switch", "-q", "main"]);
    fixture.tip(name)
}

#[test]
fn conflicts_of_every_kind_are_listed_and_agreement_is_none() {
    let fixture = Fixture::new(&[
        ("moved", "1\n2\n3\n4\n5\n"),
        ("binary", "1\0"),
        ("turned", "1\n"),
    ]);
    let (repo, base) = (fixture.repo(), fixture.tip("HEAD"));
    let one = odd_side(&fixture, "one", ONE, &base);
    let two = odd_side(&fixture, "two", TWO, &one);
    let twin = odd_side(&fixture, "twin", TWIN, &base);
    let before = fixture.users_state();
    let Merge::Conflict { files, .. } = repo.merging().merge(&one, &two).unwrap() else {
        panic!("no conflict")
    };
    let listed: Vec<String> = files.iter().map(ToString::to_string).collect();
    let expected = [
        "added (contents)",
        "binary (binary)",
        "left (rename/rename)",
        "module (submodule not initialized)",
        "moved (rename/rename)",
        "place~integration (file/directory)",
        "right (rename/rename)",
        "script (contents)",
        "turned (distinct modes)",
        "turned~yours (distinct modes)",
    ];
    assert_eq!(listed, expected);
    // The control: what agrees with the first side is merged, and so is what it changes where that
    // leaves room.
    let Merge::Clean { tree } = repo.merging().merge(&one, &twin).unwrap() else {
        panic!("a conflict")
    };
    let stored = fixture.files_of(&tree);
    let found = ["left", "script", "beside/in"].map(|name| {
        let (mode, text) = &stored[name.as_bytes()];
        (mode.as_str(), text.as_str())
    });
    assert_eq!(
        found,
        [
            ("100644", "1\n2\n3\n4\nfive\n"),
            ("100755", "run\n"),
            ("100644", "1\n")
        ]
    );
    assert!(
        fixture.users_state() == before,
        "something of the user's changed"
    );
}

#[test]
fn each_of_ten_thousand_conflicts_is_listed() {
    const FILES: usize = 10_000;
    let fixture = Fixture::new(&[("a", "1\n")]);
    let all = |text: &str| {
        let file = |at: usize| format!("M 100644 inline {}/{at}\ndata 2\n{text}\n", at % 100);
        (0..FILES).map(file).collect::<Vec<String>>().concat()
    };
    let commit = |branch: &str, from: &str, files: &str| {
        let by = "committer Test <test@example.invalid> 1700000000 +0000";
        format!("commit refs/heads/{branch}\n{by}\ndata 1\nx\nfrom refs/heads/{from}\n{files}")
    };
    let sides = [
        ("base", "main", all("1")),
        ("one", "base", all("2")),
        ("two", "base", all("3")),
    ];
    let mut stream = sides
        .map(|(branch, from, files)| commit(branch, from, &files))
        .concat();
    stream.push_str(&commit("aside", "base", "M 100644 inline a\ndata 2\n2\n"));
    let mut git = command(&fixture.project(), &["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin
        .take()
        .unwrap()
        .write_all(stream.as_bytes())
        .unwrap();
    assert!(git.wait().unwrap().success());
    let [one, two, aside] = ["one", "two", "aside"].map(|name| fixture.tip(name));
    let (repo, before) = (fixture.repo(), fixture.users_state());
    let Merge::Conflict { files, .. } = repo.merging().merge(&one, &two).unwrap() else {
        panic!("no conflict")
    };
    assert_eq!(files.len(), FILES);
    assert!(files.iter().all(|file| file.kind == "contents"));
    assert!(
        fixture.users_state() == before,
        "something of the user's changed"
    );
    // The control: all of these changes are merged into a side that has changed another file.
    let Merge::Clean { tree } = repo.merging().merge(&aside, &two).unwrap() else {
        panic!("a conflict")
    };
    assert_eq!(
        fixture.git(&["diff", "--name-only", two.as_str(), tree.as_str()]),
        "a"
    );
}

#[test]
fn attributes_come_from_the_target_not_from_the_checkout() {
    let fixture = Fixture::new(&[("log", "1\n")]);
    let base = fixture.tip("HEAD");
    let with_union = [(".gitattributes", "log merge=union\n"), ("log", "1\none\n")];
    let one = side(&fixture, "one", &with_union);
    let two = side(&fixture, "two", &[("log", "1\ntwo\n")]);
    let repo = fixture.repo();
    assert!(matches!(
        repo.merging().merge(&one, &two).unwrap(),
        Merge::Clean { .. }
    ));
    assert!(matches!(
        repo.merging().merge(&two, &one).unwrap(),
        Merge::Conflict { .. }
    ));
    // The attributes in the user's checkout have no effect.
    write_files(
        &fixture.project(),
        &[(".gitattributes", "log merge=union\n")],
    );
    assert!(matches!(
        repo.merging().merge(&two, &one).unwrap(),
        Merge::Conflict { .. }
    ));
    let tree = repo.tree_of(&base).unwrap();
    assert_eq!(
        repo.merging().merge(&base, &base).unwrap(),
        Merge::Clean { tree }
    );
}

#[test]
fn a_missing_commit_is_an_error_and_no_conflict() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let missing = Oid::new("0123456789012345678901234567890123456789");
    let error = fixture
        .repo()
        .merging()
        .merge(&fixture.tip("HEAD"), &missing)
        .unwrap_err();
    assert!(matches!(error, GitError::Library { .. }), "{error}");
}

#[test]
fn refs_move_by_compare_and_swap() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let first = fixture.tip("HEAD");
    let second = fixture.commit_files(&[("a", "2\n")], "second");
    repo.advance(INTEGRATION, None, &first).unwrap();
    repo.advance(INTEGRATION, None, &first).unwrap();
    repo.advance(INTEGRATION, Some(&first), &second).unwrap();
    repo.advance(INTEGRATION, Some(&first), &second).unwrap();
    let error = repo.advance(INTEGRATION, None, &first).unwrap_err();
    assert!(
        matches!(&error, GitError::RefMoved { actual: Some(actual), .. } if *actual == second),
        "{error}"
    );
    let bad = repo.advance("refs/heads/a..b", None, &first);
    assert!(matches!(bad, Err(GitError::BadRefName { .. })), "{bad:?}");
    assert!(matches!(
        repo.keep("refs/heads/x", &first),
        Err(GitError::BadRefName { .. })
    ));
    // The control: what does not compare moves the same ref, and the comparison with its new value
    // lets it move back.
    fixture.git(&["update-ref", INTEGRATION, first.as_str()]);
    assert_eq!(repo.read_ref(INTEGRATION).unwrap(), Some(first.clone()));
    repo.advance(INTEGRATION, Some(&first), &second).unwrap();
    fixture.git(&["pack-refs", "--all"]);
    assert_eq!(repo.read_ref(INTEGRATION).unwrap(), Some(second));
    assert_eq!(repo.refs_below("refs/heads/").unwrap().len(), 2);
}

#[test]
fn what_was_kept_is_never_let_go() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let first = fixture.tip("HEAD");
    let second = fixture.commit_files(&[("a", "2\n")], "second");
    let name = "refs/orchestrate/keep/r-test01/T1/1";
    for target in [&first, &second, &second, &first, &second] {
        repo.keep(name, target).unwrap();
    }
    let entry = |name: String, target: &Oid| RefEntry {
        name,
        target: target.clone(),
    };
    let mut expected = vec![
        entry(name.to_owned(), &second),
        entry(format!("{name}-{first}"), &first),
        entry(format!("{name}-{second}"), &second),
    ];
    expected.sort();
    assert_eq!(repo.kept(&RunId::from("r-test01")).unwrap(), expected);
    // The control: of two commits that no branch has, git removes the one that was not kept.
    let tree = repo.tree_of(&first).unwrap();
    let [kept, lost] = [1, 2].map(|time_unix| {
        repo.commit(&CommitSpec {
            time_unix,
            ..commit_spec(tree.clone(), &[])
        })
        .unwrap()
    });
    repo.keep(name, &kept).unwrap();
    fixture.git(&["gc", "-q", "--prune=now"]);
    let is_there = |commit: &Oid| {
        let asked = command(&fixture.project(), &["cat-file", "-e", commit.as_str()])
            .output()
            .unwrap();
        asked.status.success()
    };
    assert_eq!([&kept, &lost].map(is_there), [true, false]);
}

#[test]
fn one_of_many_wins_a_race() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let base = fixture.tip("HEAD");
    let tree = repo.tree_of(&base).unwrap();
    repo.advance(INTEGRATION, None, &base).unwrap();
    let won: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|time_unix| {
                let spec = CommitSpec {
                    time_unix,
                    ..commit_spec(tree.clone(), &[&base])
                };
                let (repo, base) = (repo.clone(), base.clone());
                scope.spawn(move || {
                    let new = repo.commit(&spec).unwrap();
                    usize::from(repo.advance(INTEGRATION, Some(&base), &new).is_ok())
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
}

#[test]
fn a_link_is_followed_within_the_tree() {
    let fixture = Fixture::new(&[("docs/real.md", "Use tabs.\n")]);
    let links = [
        ("AGENTS.md", "docs/real.md"),
        ("docs/again.md", ".././AGENTS.md"),
        ("outside", "../secret"),
        ("absolute", "/etc/passwd"),
        ("nowhere", "docs/none.md"),
        ("folder", "docs"),
        ("circle", "circle"),
    ];
    for (link, target) in links {
        std::os::unix::fs::symlink(target, fixture.project().join(link)).unwrap();
    }
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-q", "-m", "Links"]);
    let (repo, tip) = (fixture.repo(), fixture.tip("HEAD"));
    let told = links.map(
        |(link, _)| match repo.store().read_file(&tip, Path::new(link)) {
            Ok(text) => String::from_utf8(text.unwrap()).unwrap(),
            Err(error) => error.to_string(),
        },
    );
    let lost = |link: &str| {
        format!("read {link}: it is a link to a file that this commit does not contain")
    };
    let text = || "Use tabs.\n".to_owned();
    let expected = [
        text(),
        text(),
        lost("outside"),
        lost("absolute"),
        lost("nowhere"),
        lost("folder"),
        lost("circle"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn history_is_read() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    let repo = fixture.repo();
    let first = fixture.tip("HEAD");
    let tree = repo.tree_of(&first).unwrap();
    let commit = repo.commit(&commit_spec(tree, &[&first])).unwrap();
    let log = repo.store().log(&commit, 10).unwrap();
    let subjects: Vec<&str> = log.iter().map(|commit| commit.subject()).collect();
    assert_eq!(subjects, ["work", "first"]);
    assert!(
        log[0].message.ends_with("\nOrchestrate-Task: T1\n"),
        "{:?}",
        log[0].message
    );
    let read = |path: &str| repo.store().read_file(&commit, Path::new(path)).unwrap();
    assert_eq!((read("a"), read("none")), (Some(b"1\n".to_vec()), None));
    assert_eq!(
        repo.merge_base(&first, &commit).unwrap(),
        Some(first.clone())
    );
    assert_eq!(repo.resolve("main").unwrap(), first);
    assert!(matches!(
        repo.resolve("nothing"),
        Err(GitError::UnknownRevision { .. })
    ));
}
