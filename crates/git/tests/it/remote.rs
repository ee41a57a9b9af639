//! Pushing to remote repositories and fetching from them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orchestrate_core::Oid;
use orchestrate_core::policy::host::GitAddress;
use orchestrate_git::{
    Direction, GitError, Pushed, RemoteBranch, RemoteError, RemoteFailure, Repo, Terms,
};
use orchestrate_sandbox::Cancel;

use crate::support::{Fixture, git_in, read, write_files, write_program};

const SILENT: Terms = Terms {
    timeout: Duration::from_secs(60),
    is_attended: false,
};

/// Returns a repository with a bare remote `origin`, which has its branch `main`.
fn with_remote() -> (Fixture, PathBuf) {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    let remote = fixture.path().join("remote.git");
    fixture.git(&[
        "init",
        "-q",
        "--bare",
        "-b",
        "main",
        remote.to_str().unwrap(),
    ]);
    fixture.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    fixture.git(&["push", "-q", "origin", "main"]);
    fixture.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    (fixture, remote)
}

/// Commits a file on top of another commit, on no branch.
fn commit_on(fixture: &Fixture, parent: &Oid, file: &str) -> Oid {
    let scratch = fixture.path().join("scratch");
    fixture.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        scratch.to_str().unwrap(),
        parent.as_str(),
    ]);
    write_files(&scratch, &[(file, "new\n")]);
    git_in(&scratch, &["add", "-A"]);
    git_in(&scratch, &["commit", "-q", "-m", file]);
    let commit = Oid::new(git_in(&scratch, &["rev-parse", "HEAD"]));
    fixture.git(&["worktree", "remove", "--force", scratch.to_str().unwrap()]);
    commit
}

fn push(repo: &Repo, commit: &Oid, branch: &str) -> Result<Pushed, GitError> {
    let address = repo.remotes().address("origin", Direction::Push)?;
    repo.remotes().push(
        RemoteBranch {
            remote: "origin",
            address: &address,
            branch,
        },
        commit,
        SILENT,
    )
}

fn fetch(repo: &Repo, branch: &str, have: &Oid) -> Result<Oid, GitError> {
    Ok(fetch_at_most(repo, branch, have, 1 << 20)?.unwrap())
}

fn fetch_at_most(
    repo: &Repo,
    branch: &str,
    have: &Oid,
    max_bytes: u64,
) -> Result<Option<Oid>, GitError> {
    let address = repo.remotes().address("origin", Direction::Fetch)?;
    repo.remotes().fetch(
        RemoteBranch {
            remote: "origin",
            address: &address,
            branch,
        },
        [have, have],
        SILENT,
        max_bytes,
    )
}

fn cause(result: Result<impl std::fmt::Debug, GitError>) -> (RemoteFailure, String) {
    match result {
        Err(GitError::Remote(RemoteError::Failed { cause, said, .. })) => (cause, said),
        other => panic!("{other:?}"),
    }
}

fn make_executable(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_program(path, script);
}

#[test]
fn a_branch_is_created_and_only_moved_forward() {
    let (fixture, remote) = with_remote();
    let base = fixture.tip("main");
    let one = commit_on(&fixture, &base, "one");
    let two = commit_on(&fixture, &base, "two");
    let next = commit_on(&fixture, &one, "next");
    let (repo, before) = (fixture.repo(), fixture.users_state());
    let done = [
        push(&repo, &one, "try/one"),
        push(&repo, &one, "try/one"),
        push(&repo, &next, "try/one"),
    ];
    let done = done.map(Result::unwrap);
    assert_eq!(done, [Pushed::Created, Pushed::UpToDate, Pushed::Forwarded]);
    for (commit, branch) in [
        (&two, "try/one"),
        (&one, "try/one"),
        (&two, "try/one/below"),
    ] {
        let (cause, said) = cause(push(&repo, commit, branch));
        let expected = if branch == "try/one" {
            RemoteFailure::NotFastForward
        } else {
            RemoteFailure::Refused
        };
        assert_eq!(cause, expected, "{branch}: {said}");
    }
    let listed = git_in(
        &remote,
        &["for-each-ref", "--format=%(refname) %(objectname)"],
    );
    assert_eq!(
        listed,
        format!("refs/heads/main {base}\nrefs/heads/try/one {next}")
    );
    assert_eq!(fixture.users_state(), before);
}

/// Whatever the repository, or the user for all repositories, has configured to run or to send
/// along.
#[test]
fn nothing_runs_and_nothing_else_is_sent() {
    let (fixture, remote) = with_remote();
    let (base, planted) = (fixture.tip("main"), fixture.planted());
    let commit = commit_on(&fixture, &base, "one");
    fixture.git(&["tag", "-a", "-m", "v1", "v1", commit.as_str()]);
    let planted = planted.to_str().unwrap();
    for hook in ["pre-push", "reference-transaction", "post-checkout"] {
        make_executable(
            &fixture.project().join(".git/hooks").join(hook),
            &format!("#!/bin/sh\n{planted}\n"),
        );
    }
    // The remote is a folder here, whose side of the push has the user's configuration and its
    // hooks as well.
    make_executable(
        &fixture.path().join("hooks/pre-push"),
        &format!("#!/bin/sh\n{planted}\n"),
    );
    fixture.configure(
        "core.hooksPath",
        fixture.path().join("hooks").to_str().unwrap(),
    );
    fixture.configure("push.followTags", "true");
    fixture.configure("remote.pushDefault", "elsewhere");
    for key in [
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "credential.helper",
        "remote.origin.vcs",
    ] {
        fixture.git(&["config", key, planted]);
    }
    for key in [
        "remote.origin.receivepack",
        "remote.origin.uploadpack",
        "uploadpack.packObjectsHook",
    ] {
        fixture.git(&["config", key, planted]);
    }
    fixture.git(&["config", "remote.origin.mirror", "true"]);
    fixture.git(&["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"]);
    let repo = fixture.repo();
    assert_eq!(push(&repo, &commit, "try").unwrap(), Pushed::Created);
    assert_eq!(fetch(&repo, "main", &commit).unwrap(), base);
    let listed = git_in(&remote, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(listed, "refs/heads/main\nrefs/heads/try");
    assert!(!fixture.canary().exists());
}

#[test]
fn a_branch_is_fetched_into_no_ref() {
    let (fixture, remote) = with_remote();
    let base = fixture.tip("main");
    let other = fixture.path().join("other");
    fixture.git(&[
        "clone",
        "-q",
        remote.to_str().unwrap(),
        other.to_str().unwrap(),
    ]);
    write_files(&other, &[("b.txt", "theirs\n")]);
    git_in(&other, &["add", "-A"]);
    git_in(&other, &["commit", "-q", "-m", "theirs"]);
    git_in(&other, &["tag", "v1"]);
    git_in(
        &other,
        &[
            "push",
            "-q",
            "--tags",
            "origin",
            "HEAD:refs/heads/main",
            "HEAD:refs/heads/feature/x",
        ],
    );
    let theirs = Oid::new(git_in(&other, &["rev-parse", "HEAD"]));
    let (repo, before) = (fixture.repo(), fixture.users_state());
    assert_eq!(fetch(&repo, "feature/x", &base).unwrap(), theirs);
    assert_eq!(fetch(&repo, "main", &theirs).unwrap(), theirs);
    assert_eq!(
        repo.store()
            .read_stored(&theirs, Path::new("b.txt"))
            .unwrap()
            .as_deref(),
        Some(&b"theirs\n"[..])
    );
    assert_eq!(fixture.users_state(), before);
    let address = repo.remotes().address("origin", Direction::Fetch).unwrap();
    let default = repo
        .remotes()
        .default_branch("origin", &address, SILENT)
        .unwrap();
    assert_eq!(default.as_deref(), Some("main"));
    assert_eq!(
        cause(fetch(&repo, "nowhere", &base)).0,
        RemoteFailure::NoBranch
    );
}

/// Returns the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect();
    files.sort();
    files
}

#[test]
fn nothing_is_left_of_a_history_that_is_refused() {
    let (fixture, remote) = with_remote();
    let base = fixture.tip("main");
    let other = fixture.path().join("other");
    fixture.git(&["init", "-q", "-b", "main", other.to_str().unwrap()]);
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + ((state >> 33) % 90) as u8)
    };
    let noise: String = (0..40_000).map(|_| random()).collect();
    write_files(&other, &[("b.txt", &noise)]);
    git_in(&other, &["add", "-A"]);
    git_in(&other, &["commit", "-q", "-m", "unrelated"]);
    git_in(
        &other,
        &[
            "push",
            "-q",
            remote.to_str().unwrap(),
            "HEAD:refs/heads/unrelated",
        ],
    );
    git_in(&other, &["fetch", "-q", remote.to_str().unwrap(), "main"]);
    git_in(&other, &["checkout", "-q", "-b", "large", "FETCH_HEAD"]);
    write_files(&other, &[("b.txt", &noise)]);
    git_in(&other, &["add", "-A"]);
    git_in(&other, &["commit", "-q", "-m", "large"]);
    git_in(
        &other,
        &[
            "push",
            "-q",
            remote.to_str().unwrap(),
            "HEAD:refs/heads/large",
        ],
    );
    let repo = fixture.repo();
    let objects = fixture.project().join(".git/objects");
    let before = files(&objects);
    assert_eq!(
        fetch_at_most(&repo, "unrelated", &base, 1 << 20).unwrap(),
        None
    );
    assert_eq!(files(&objects), before);
    let (failure, _) = cause(fetch_at_most(&repo, "large", &base, 4096));
    assert_eq!(failure, RemoteFailure::TooLarge { max_bytes: 4096 });
    assert_eq!(files(&objects), before);
    assert!(
        std::fs::read_dir(&objects)
            .unwrap()
            .all(|entry| entry.unwrap().file_name().len() < 8),
        "no folder is left"
    );
    // Within the limit, it becomes part of the repository.
    let large = Oid::new(git_in(&other, &["rev-parse", "HEAD"]));
    assert_eq!(
        fetch_at_most(&repo, "large", &base, 1 << 20).unwrap(),
        Some(large.clone())
    );
    assert_eq!(fixture.git(&["cat-file", "-t", large.as_str()]), "commit");
    assert!(files(&objects).len() > before.len());
}

#[test]
fn the_address_is_the_one_that_git_would_use() {
    let (fixture, _) = with_remote();
    let configure = |key: &str, value: &str| drop(fixture.git(&["config", "--add", key, value]));
    configure("remote.web.url", "https://me:secret@Host.example/a.git");
    configure("remote.short.url", "gh:a/b");
    configure("url.https://github.com/.insteadOf", "gh:");
    configure("url.git@github.com:.pushInsteadOf", "gh:");
    configure("remote.two.url", "gh:a/b");
    configure("remote.two.pushurl", "gh:c/d");
    fixture.configure("url.https://mirror.example/a/.insteadOf", "gh:a/");
    configure("remote.many.url", "/srv/a.git");
    configure("remote.many.url", "/srv/b.git");
    configure("remote.ext.url", "ext::sh -c id");
    configure("remote.option.url", "ssh://-oProxyCommand=id/x");
    configure("remote.own.url", "vendor/x.git");
    configure("remote.below.url", "../x.git");
    configure("remote.twice.url", "once:x");
    configure("url.twice:.insteadOf", "once:");
    configure("url.https://evil.example/.insteadOf", "twice:x");
    configure("remote.empty.fetch", "+refs/heads/*:refs/remotes/empty/*");
    std::fs::create_dir_all(fixture.project().join("vendor/x.git")).unwrap();
    let repo = fixture.repo();
    let of = |name: &str, direction| match repo.remotes().address(name, direction) {
        Ok(address) => address.to_string(),
        Err(error) => error.to_string(),
    };
    let below = fixture.project().join("../x.git").display().to_string();
    let known = "below, ext, many, option, origin, own, short, twice, two, web";
    let unknown = |name: &str| {
        format!("find the remote `{name}`: the repository's configuration has these: {known}")
    };
    // The control: the addresses that the first remotes have by the same configuration are taken,
    // each at its host.
    let table = [
        ("web", Direction::Push, "https://host.example/a.git".to_owned()),
        ("short", Direction::Fetch, "https://mirror.example/a/b".to_owned()),
        ("short", Direction::Push, "git@github.com:a/b".to_owned()),
        ("two", Direction::Fetch, "https://mirror.example/a/b".to_owned()),
        ("two", Direction::Push, "https://github.com/c/d".to_owned()),
        ("many", Direction::Fetch, "/srv/a.git".to_owned()),
        (
            "many",
            Direction::Push,
            "use the remote many: it has several addresses, and only the user pushes to all of them".to_owned(),
        ),
        (
            "ext",
            Direction::Push,
            "use the remote ext: only https, http, ssh, git and folders are used, not `ext`".to_owned(),
        ),
        ("option", Direction::Push, "use the remote option: the address names no host".to_owned()),
        ("own", Direction::Push, "use the remote own: its address is a folder of this repository".to_owned()),
        ("below", Direction::Push, below),
        (
            "twice",
            Direction::Push,
            "use the remote twice: its address is replaced by one that is replaced again".to_owned(),
        ),
        ("empty", Direction::Push, unknown("empty")),
        ("https://evil.example/", Direction::Push, unknown("https://evil.example/")),
        ("--upload-pack=id", Direction::Push, unknown("--upload-pack=id")),
    ];
    for (name, direction, expected) in table {
        assert_eq!(of(name, direction), expected, "{name} {direction:?}");
    }
    // What the user adds while the repository is open is found.
    fixture.git(&["remote", "add", "later", "https://later.example/a"]);
    assert_eq!(of("later", Direction::Push), "https://later.example/a");
}

#[test]
fn a_result_is_pushed_where_git_would_push_it() {
    let (fixture, remote) = with_remote();
    let commit = commit_on(&fixture, &fixture.tip("main"), "one");
    let instead = format!("url.{}/.insteadOf", fixture.path().display());
    fixture.git(&["remote", "add", "mine", "gh:me/remote.git"]);
    fixture.git(&["config", "branch.main.remote", "mine"]);
    fixture.configure(&instead, "gh:me/");
    let push = |branch: &str| {
        let repo = fixture.repo();
        let to = repo.landing().push_remote("main").unwrap();
        assert_eq!(
            (to.name.as_str(), to.address.as_str()),
            ("mine", remote.to_str().unwrap()),
            "{branch}"
        );
        repo.landing().push(&to, &commit, branch, &[]).unwrap();
        assert_eq!(git_in(&remote, &["rev-parse", branch]), commit.as_str());
    };
    push("for-all");
    fixture.configure(&instead, "elsewhere:");
    fixture.configure(&instead.replace("insteadOf", "pushInsteadOf"), "gh:me/");
    push("for-pushing");
    fixture.git(&["config", "remote.mine.pushurl", "elsewhere:remote.git"]);
    push("of-its-own");
    let refused = |address: &str| {
        fixture.git(&["config", "remote.mine.pushurl", address]);
        fixture
            .repo()
            .landing()
            .push_remote("main")
            .unwrap_err()
            .to_string()
    };
    fixture.configure("url.gh:me/.insteadOf", "twice:");
    assert!(
        refused("elsewhere:project/.git").contains("its address is a folder of this repository")
    );
    assert!(
        refused("ext::sh -c id")
            .contains("only https, http, ssh, git and folders are used, not `ext`")
    );
    fixture.git(&["config", "branch.main.remote", "nowhere"]);
    let missing = fixture.repo().landing().push_remote("main");
    assert!(
        matches!(missing, Err(GitError::NoRemote { .. })),
        "{missing:?}"
    );
}

/// A result that was made anew takes the place of what an earlier one contains, and of nothing
/// else.
#[test]
fn only_what_was_replaced_is_pushed_over() {
    let (fixture, remote) = with_remote();
    let base = fixture.tip("main");
    let [begun, anew, theirs] =
        ["begun", "anew", "theirs"].map(|file| commit_on(&fixture, &base, file));
    let earlier = commit_on(&fixture, &begun, "earlier");
    let repo = fixture.repo();
    let to = repo.landing().push_remote("main").unwrap();
    let push = |commit: &Oid, replaced: &[Oid]| repo.landing().push(&to, commit, "try", replaced);
    let tip = || git_in(&remote, &["rev-parse", "try"]);
    push(&begun, &[]).unwrap();
    push(&anew, std::slice::from_ref(&earlier)).unwrap();
    assert_eq!(tip(), anew.as_str());
    // Of what is no longer there, nothing is known.
    let gone = Oid::new("1".repeat(40));
    let refused = push(&theirs, &[earlier, gone]);
    assert!(
        matches!(&refused, Err(GitError::Unreplaceable { found, .. }) if *found == anew),
        "{refused:?}"
    );
    assert_eq!(tip(), anew.as_str());
}

/// Neither git nor a program that it starts, with any of the programs that the user has for
/// questions.
#[test]
fn nobody_is_asked_for_a_password() {
    let (fixture, _) = with_remote();
    let commit = commit_on(&fixture, &fixture.tip("main"), "one");
    fixture.configure("core.askPass", fixture.planted().to_str().unwrap());
    let (ssh, seen) = (fixture.path().join("bin/ssh"), fixture.path().join("seen"));
    let variables = "${GIT_ASKPASS-unset}|${SSH_ASKPASS-unset}|${GIT_TERMINAL_PROMPT-unset}";
    make_executable(
        &ssh,
        &format!(
            "#!/bin/sh\necho \"{variables}\" > '{}'\nexit 1\n",
            seen.display()
        ),
    );
    fixture.configure("core.sshCommand", ssh.to_str().unwrap());
    let repo = fixture.repo();
    let at = |text: &str| {
        let address = GitAddress::parse(text).unwrap();
        cause(repo.remotes().push(
            RemoteBranch {
                remote: "x",
                address: &address,
                branch: "try",
            },
            &commit,
            SILENT,
        ))
    };
    at("ssh://host.example/a.git");
    assert_eq!(read(seen), "||0\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/a", listener.local_addr().unwrap());
    let (failure, said) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut connection, _) = listener.accept().unwrap();
            let request = BufReader::new(connection.try_clone().unwrap()).lines().map(Result::unwrap);
            assert!(request.take_while(|line| !line.is_empty()).count() > 0);
            let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nConnection: close\r\nContent-Length: 0";
            write!(connection, "{head}\r\n\r\n").unwrap();
        });
        at(&address)
    });
    assert_eq!(failure, RemoteFailure::Unauthenticated, "{said}");
    assert!(!fixture.canary().exists());
}

#[test]
fn each_failure_has_its_class() {
    let (fixture, remote) = with_remote();
    let base = fixture.tip("main");
    let commit = commit_on(&fixture, &base, "one");
    let repo = fixture.repo();
    make_executable(
        &remote.join("hooks/pre-receive"),
        "#!/bin/sh\necho not today >&2\nexit 1\n",
    );
    let (refused, said) = cause(push(&repo, &commit, "try"));
    assert!(
        refused == RemoteFailure::Refused && said.contains("remote: not today"),
        "{refused:?}: {said}"
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let at = |text: &str, timeout| {
        let address = GitAddress::parse(text).unwrap();
        let terms = Terms { timeout, ..SILENT };
        cause(repo.remotes().push(
            RemoteBranch {
                remote: "x",
                address: &address,
                branch: "try",
            },
            &commit,
            terms,
        ))
        .0
    };
    // It accepts the connection and never says a word.
    let late = Duration::from_millis(300);
    assert_eq!(
        at(&format!("http://127.0.0.1:{port}/a"), late),
        RemoteFailure::TimedOut { seconds: 0 }
    );
    drop(listener);
    for protocol in ["http", "git"] {
        let text = format!("{protocol}://127.0.0.1:{port}/a");
        assert_eq!(
            at(&text, SILENT.timeout),
            RemoteFailure::Unreachable,
            "{text}"
        );
    }
    let nowhere = fixture.path().join("nowhere.git");
    assert_eq!(
        at(nowhere.to_str().unwrap(), SILENT.timeout),
        RemoteFailure::NoRepository
    );
}

#[test]
fn a_push_ends_when_it_is_killed() {
    let (fixture, _) = with_remote();
    let commit = commit_on(&fixture, &fixture.tip("main"), "one");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address =
        GitAddress::parse(&format!("http://{}/a", listener.local_addr().unwrap())).unwrap();
    let cancel = Cancel::new();
    let repo = fixture.repo().killed_by(&cancel);
    let ended = std::thread::scope(|scope| {
        let pushing = scope.spawn(|| {
            repo.remotes().push(
                RemoteBranch {
                    remote: "x",
                    address: &address,
                    branch: "try",
                },
                &commit,
                SILENT,
            )
        });
        let _connection = listener.accept().unwrap();
        cancel.kill();
        pushing.join().unwrap()
    });
    assert!(matches!(ended, Err(GitError::Killed)), "{ended:?}");
}

#[test]
fn a_clone_with_a_part_of_the_history_is_pushed() {
    let (fixture, remote) = with_remote();
    for n in 0..3 {
        fixture.commit_files(&[("a.txt", &format!("{n}\n"))], "more");
    }
    fixture.git(&["push", "-q", "origin", "main"]);
    let shallow = fixture.path().join("shallow");
    let from = format!("file://{}", remote.display());
    fixture.git(&[
        "clone",
        "-q",
        "--depth",
        "1",
        &from,
        shallow.to_str().unwrap(),
    ]);
    write_files(&shallow, &[("b.txt", "b\n")]);
    git_in(&shallow, &["add", "-A"]);
    git_in(&shallow, &["commit", "-q", "-m", "b"]);
    let tip = Oid::new(git_in(&shallow, &["rev-parse", "HEAD"]));
    let repo = fixture.open(&shallow).unwrap();
    let base = Oid::new(git_in(&shallow, &["rev-parse", "HEAD~1"]));
    for (remote, below_base) in [("origin", 0), ("unknown", 1)] {
        let found = repo.remotes().unpushed(remote, &tip, &base, 10).unwrap();
        assert_eq!(
            (found.since_base.len(), found.below_base.len()),
            (1, below_base),
            "{remote}"
        );
    }
    assert_eq!(push(&repo, &tip, "try").unwrap(), Pushed::Created);
    assert_eq!(fetch(&repo, "try", &tip).unwrap(), tip);
}

#[test]
fn what_a_push_would_publish_is_listed() {
    let (fixture, _) = with_remote();
    let base = fixture.tip("main");
    let private = fixture.commit_files(&[("private.txt", "x\n")], "not pushed yet");
    let own = commit_on(&fixture, &private, "own");
    let repo = fixture.repo();
    let subjects = || {
        let found = repo
            .remotes()
            .unpushed("origin", &own, &private, 10)
            .unwrap();
        [found.since_base, found.below_base].map(|listed| {
            listed
                .iter()
                .map(|commit| commit.subject().to_owned())
                .collect::<Vec<_>>()
                .join(", ")
        })
    };
    // Nothing is known of the remote.
    assert_eq!(subjects(), ["own", "not pushed yet, first"]);
    fixture.git(&["update-ref", "refs/remotes/origin/main", base.as_str()]);
    assert_eq!(subjects(), ["own", "not pushed yet"]);
    fixture.git(&["update-ref", "refs/remotes/origin/main", private.as_str()]);
    assert_eq!(subjects(), ["own", ""]);
    assert_eq!(repo.remotes().noted_default_branch("origin").unwrap(), None);
    fixture.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    assert_eq!(
        repo.remotes()
            .noted_default_branch("origin")
            .unwrap()
            .as_deref(),
        Some("main")
    );
}

#[test]
fn what_was_fetched_from_elsewhere_is_not_where_a_push_leads() {
    let (fixture, _) = with_remote();
    let base = fixture.tip("main");
    let own = commit_on(&fixture, &base, "own");
    fixture.git(&["update-ref", "refs/remotes/origin/main", base.as_str()]);
    let published = || {
        let found = fixture
            .repo()
            .remotes()
            .unpushed("origin", &own, &base, 10)
            .unwrap();
        (found.since_base.len(), found.below_base.len())
    };
    assert_eq!(published(), (1, 0));
    fixture.git(&[
        "config",
        "remote.origin.pushurl",
        "git@github.com:me/public.git",
    ]);
    assert_eq!(published(), (1, 1));
    // Another way to the same repository.
    fixture.git(&[
        "config",
        "remote.origin.url",
        "https://github.com/me/public",
    ]);
    assert_eq!(published(), (1, 0));
}
