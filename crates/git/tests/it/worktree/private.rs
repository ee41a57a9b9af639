//! The git of an agent: what is done there with the git program and what our refs say follow each
//! other, and nothing that is planted there leads out of it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use orchestrate_core::{Oid, RunId, TaskId};
use orchestrate_git::own_refs::{HEAD, OwnRefs, SELECTED};
use orchestrate_git::{AgentsGit, CommitSpec, Identities, Identity, OurSide, Repo, Worktree};

use crate::support::{Fixture, git_in, make_pipe, read, write_files, write_program};

/// An agent with a worktree and a git of its own.
struct Agent {
    fixture: Fixture,
    repo: Repo,
    worktree: Worktree,
}

impl Agent {
    fn new() -> Agent {
        Agent::with(Fixture::new(&[("a", "1\n"), ("dir/b", "2\n")]))
    }

    fn with(fixture: Fixture) -> Agent {
        let repo = fixture.repo();
        let worktree = fixture.worktree(&repo, "T1");
        let agent = Agent {
            fixture,
            repo,
            worktree,
        };
        agent.sync();
        agent
    }

    fn git_dir(&self) -> PathBuf {
        self.worktree
            .path()
            .parent()
            .unwrap()
            .join(".git-dirs/T1/git")
    }

    fn own(&self) -> OwnRefs {
        let run = RunId::new("r-test01");
        OwnRefs::for_task(&run, &TaskId::new("T1"))
    }

    fn tip(&self) -> Oid {
        self.fixture.tip("orchestrate/r-test01/T1")
    }

    fn spec(&self, tree: Oid, parents: Vec<Oid>) -> CommitSpec {
        let by = Identity {
            name: "Agent".to_owned(),
            email: "agent@example.invalid".to_owned(),
        };
        CommitSpec {
            tree,
            parents,
            message: "ours".to_owned(),
            trailers: Vec::new(),
            by: Identities {
                author: by.clone(),
                committer: by,
            },
            time_unix: 1_700_000_000,
        }
    }

    fn sync(&self) -> AgentsGit {
        let tip = self.tip();
        let selection = self.spec(self.repo.tree_of(&tip).unwrap(), vec![tip.clone()]);
        let selection = Some(selection);
        let side = OurSide {
            own: self.own(),
            tip,
            selection,
        };
        self.repo
            .worktrees()
            .sync_git(&self.worktree, &side)
            .unwrap()
    }

    /// Runs the git program as a command of the agent's does.
    fn run(&self, args: &[&str]) -> Output {
        Command::new("git")
            .args(args)
            .current_dir(self.worktree.path())
            .env("GIT_DIR", self.git_dir())
            .env("GIT_WORK_TREE", self.worktree.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .output()
            .unwrap()
    }

    fn git(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {text}{errors}");
        text.trim_end().to_owned()
    }

    /// Writes a tree with one entry; returns its id.
    fn git_with(&self, kind: &str, id: &str, name: &str) -> String {
        let mut child = Command::new("git")
            .args(["mktree", "--missing"])
            .env("GIT_DIR", self.git_dir())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let line = format!("{kind} {id}\t{name}\n");
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), line.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, files: &[(&str, &str)]) {
        write_files(self.worktree.path(), files);
    }

    /// Writes a file and commits it; returns the commit.
    fn commit(&self, file: &str, content: &str) -> Oid {
        self.write(&[(file, content)]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", &format!("Write {file}")]);
        Oid::new(self.git(&["rev-parse", "HEAD"]))
    }

    /// Returns the refs of the user's repository that no run has made.
    fn users_refs(&self) -> String {
        let all = self.fixture.git(&["for-each-ref"]);
        let users = all.lines().filter(|line| !line.contains("orchestrate/"));
        users.collect::<Vec<_>>().join("\n")
    }

    fn held(&self, name: &str) -> Option<Oid> {
        self.own().read(&self.repo, name).unwrap()
    }
}

#[test]
fn an_agents_git_begins_as_its_worktree() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    fixture.git(&["tag", "-a", "-m", "x", "v1"]);
    fixture.git(&["branch", "other"]);
    fixture.git(&["branch", "orchestrate/r-test01/T2"]);
    fixture.git(&["config", "credential.helper", "!echo password=secret"]);
    std::fs::create_dir_all(fixture.project().join(".git/hooks")).unwrap();
    write_program(
        &fixture.project().join(".git/hooks/pre-commit"),
        "#!/bin/sh\nexit 1\n",
    );
    let agent = Agent::with(fixture);
    let status = agent.git(&["status", "--porcelain", "--branch"]);
    assert_eq!(status, "## orchestrate/r-test01/T1");
    let branches = agent.git(&["branch", "--format=%(refname:short)"]);
    assert_eq!(branches, "main\norchestrate/r-test01/T1\nother");
    assert_eq!(agent.git(&["describe", "--tags"]), "v1");
    assert!(!read(agent.git_dir().join("config")).contains("secret"));
    let commit = agent.commit("new", "text\n");
    let who = agent.git(&["log", "-1", "--format=%an <%ae>", commit.as_str()]);
    assert_eq!(who, "Agent <agent@example.invalid>");
    agent.git(&["fsck", "--strict"]);
}

#[test]
fn what_the_agent_does_with_git_is_seen() {
    let agent = Agent::new();
    let (tip, refs) = (agent.tip(), agent.users_refs());
    let first = agent.commit("c", "3\n");
    agent.git(&["checkout", "-q", "-b", "feature"]);
    let second = agent.commit("d", "4\n");
    agent.git(&["tag", "-a", "-m", "x", "mark"]);
    agent.write(&[("a", "changed\n"), ("untracked", "new\n")]);
    agent.git(&["stash", "push", "-q", "--include-untracked"]);
    agent.write(&[("a", "staged\n")]);
    agent.git(&["add", "a"]);
    agent.write(&[("dir/b", "unstaged\n")]);
    let seen = agent.sync();
    assert_eq!((seen.notes.as_slice(), &seen.head), (&[][..], &second));
    assert_eq!(agent.held(HEAD), Some(second.clone()));
    assert_eq!(agent.held("branch/feature"), Some(second.clone()));
    assert_eq!(agent.held("tag/mark"), Some(second.clone()));
    assert_eq!(agent.held("task-branch"), Some(first));
    let stashes = agent.own().stashes(&agent.repo).unwrap();
    assert_eq!(stashes.len(), 1);
    let stashed = agent.fixture.files_of(&stashes[0].commit.tree);
    assert_eq!(stashed[b"a".as_slice()].1, "changed\n");
    let selected = agent.own().current(&agent.repo, SELECTED, &tip).unwrap();
    let selected = agent.fixture.files_of(&selected.unwrap().tree);
    assert_eq!(selected[b"a".as_slice()].1, "staged\n");
    assert_eq!(selected[b"dir/b".as_slice()].1, "2\n");
    // Of the user's nothing has moved, nor has the task's branch.
    assert_eq!((agent.tip(), agent.users_refs()), (tip.clone(), refs));
    // What it undoes is undone; what it leaves stays held.
    agent.git(&["reset", "-q", "--hard", "HEAD~2"]);
    agent.git(&["stash", "drop", "-q"]);
    agent.git(&["tag", "-d", "mark"]);
    let seen = agent.sync();
    assert_eq!((seen.notes.as_slice(), &seen.head), (&[][..], &tip));
    assert_eq!((agent.held(HEAD), agent.held("tag/mark")), (None, None));
    let left = format!("left/{}", &second.as_str()[..12]);
    assert_eq!(agent.held(&left), Some(second));
    assert_eq!(agent.own().stashes(&agent.repo).unwrap().len(), 0);
    let selected = agent.own().current(&agent.repo, SELECTED, &tip).unwrap();
    assert_eq!(selected, None);
    assert_eq!(agent.sync().notes, [""; 0]);
}

#[test]
fn what_our_tools_do_is_seen_in_the_agents_git() {
    let agent = Agent::new();
    let (repo, own, tip) = (&agent.repo, agent.own(), agent.tip());
    let typed = agent.commit("typed", "1\n");
    agent.git(&["branch", "mine"]);
    agent.write(&[("tool", "2\n")]);
    agent.sync();
    // A commit of the tool's, of all files.
    let tree = repo.store().current_tree(&agent.worktree).unwrap();
    let made = repo.commit(&agent.spec(tree, vec![tip.clone()])).unwrap();
    let branch = "refs/heads/orchestrate/r-test01/T1";
    repo.advance(branch, Some(&tip), &made).unwrap();
    // A name, a stash, and a selection.
    own.set(repo, "branch/named", &tip).unwrap();
    let index = repo
        .commit(&agent.spec(repo.tree_of(&made).unwrap(), vec![made.clone()]))
        .unwrap();
    let stash = repo
        .commit(&agent.spec(repo.tree_of(&tip).unwrap(), vec![made.clone(), index]))
        .unwrap();
    own.push(repo, &stash).unwrap();
    agent.write(&[("a", "selected\n")]);
    let tree = repo.store().current_tree(&agent.worktree).unwrap();
    let selected = repo.commit(&agent.spec(tree, vec![made.clone()])).unwrap();
    own.set(repo, SELECTED, &selected).unwrap();
    own.forget(repo, &["branch/mine"]).unwrap();
    let seen = agent.sync();
    assert_eq!((seen.notes.as_slice(), &seen.head), (&[][..], &made));
    assert_eq!(agent.git(&["log", "--format=%s"]), "ours\nfirst");
    assert_eq!(agent.git(&["status", "--porcelain"]), "M  a");
    assert_eq!(agent.git(&["rev-parse", "named"]), tip.as_str());
    assert!(
        !agent
            .run(&["rev-parse", "--verify", "mine"])
            .status
            .success()
    );
    assert_eq!(agent.git(&["stash", "list"]), "stash@{0}: ours");
    agent.git(&["commit", "-q", "-m", "more"]);
    agent.git(&["stash", "pop", "-q"]);
    let left = format!("left/{}", &typed.as_str()[..12]);
    assert_eq!(agent.held(&left), Some(typed));
    agent.sync();
    assert_eq!(own.stashes(repo).unwrap().len(), 0);
    // A commit of the tool's is made on the branch on which the agent is.
    agent.git(&["checkout", "-q", "-f", "-b", "feature"]);
    agent.sync();
    let tree = repo.store().current_tree(&agent.worktree).unwrap();
    let next = repo.commit(&agent.spec(tree, vec![made.clone()])).unwrap();
    repo.advance(branch, Some(&made), &next).unwrap();
    agent.sync();
    assert_eq!(agent.git(&["rev-parse", "feature"]), next.as_str());
    assert_eq!(agent.git(&["branch", "--show-current"]), "feature");
    agent.git(&["fsck", "--strict"]);
}

/// `git gc` makes packs with differences, and packs the refs.
#[test]
fn packed_objects_and_refs_are_brought() {
    let agent = Agent::new();
    let mut text: Vec<String> = (0..2_000)
        .map(|line| format!("line {line} of many\n"))
        .collect();
    for at in 0..30 {
        text[at * 50] = format!("changed {at}\n");
        agent.commit("long", &text.concat());
    }
    agent.git(&["tag", "here"]);
    agent.git(&["gc", "-q", "--aggressive", "--prune=now"]);
    let head = Oid::new(agent.git(&["rev-parse", "HEAD"]));
    let deltas = agent.git(&["verify-pack", "-s", &the_pack(&agent)]);
    assert!(deltas.contains("chain length"), "{deltas}");
    let seen = agent.sync();
    assert_eq!((seen.notes.as_slice(), &seen.head), (&[][..], &head));
    assert_eq!(agent.held("tag/here"), Some(head.clone()));
    let files = agent.fixture.files_of(&agent.repo.tree_of(&head).unwrap());
    assert_eq!(files[b"long".as_slice()].1, text.concat());
    let history = agent.fixture.git(&["log", "--format=%s", head.as_str()]);
    assert_eq!(history.lines().count(), 31);
    agent.fixture.git(&["fsck", "--strict"]);
}

fn the_pack(agent: &Agent) -> String {
    let packs = std::fs::read_dir(agent.git_dir().join("objects/pack")).unwrap();
    let mut packs = packs.map(|entry| entry.unwrap().path());
    let pack = packs.find(|path| path.extension().is_some_and(|end| end == "idx"));
    pack.unwrap().to_str().unwrap().to_owned()
}

#[test]
fn operations_in_progress_are_told() {
    let agent = Agent::new();
    agent.git(&["checkout", "-q", "-b", "other"]);
    agent.commit("a", "theirs\n");
    agent.git(&["checkout", "-q", "orchestrate/r-test01/T1"]);
    let own = agent.commit("a", "ours\n");
    assert!(!agent.run(&["merge", "other"]).status.success());
    let seen = agent.sync();
    assert_eq!(seen.operation, Some("a merge"));
    let conflicts: Vec<_> = seen
        .conflicts
        .iter()
        .map(|file| (file.path.as_path(), file.line))
        .collect();
    assert_eq!(conflicts, [(Path::new("a"), 1)]);
    assert_eq!((seen.notes.as_slice(), &seen.head), (&[][..], &own));
    agent.git(&["merge", "--abort"]);
    assert!(!agent.run(&["rebase", "other"]).status.success());
    assert_eq!(agent.sync().operation, Some("a rebase"));
    agent.git(&["rebase", "--abort"]);
    agent.git(&["checkout", "-q", "--detach"]);
    let seen = agent.sync();
    assert_eq!((seen.operation, &seen.head), (None, &own));
    agent.git(&["checkout", "-q", "--orphan", "bare"]);
    assert_eq!(agent.sync().head, agent.tip());
}

#[test]
fn a_damaged_git_is_made_again_and_nothing_is_lost() {
    let damages: [&dyn Fn(&Path); 5] = [
        &|git_dir| std::fs::remove_file(git_dir.join("HEAD")).unwrap(),
        &|git_dir| std::fs::remove_dir_all(git_dir).unwrap(),
        &|git_dir| {
            std::fs::remove_dir_all(git_dir.join("objects")).unwrap();
            symlink("/", git_dir.join("objects")).unwrap();
        },
        &|git_dir| {
            std::fs::remove_dir_all(git_dir).unwrap();
            symlink("/", git_dir).unwrap();
        },
        &|git_dir| {
            std::fs::remove_dir_all(git_dir.join("refs")).unwrap();
        },
    ];
    for damage in damages {
        let agent = Agent::new();
        let commit = agent.commit("c", "3\n");
        agent.git(&["branch", "mine"]);
        agent.sync();
        damage(&agent.git_dir());
        let seen = agent.sync();
        assert_eq!(seen.head, agent.tip(), "{:?}", seen.notes);
        assert_eq!(seen.notes.len(), 1, "{:?}", seen.notes);
        assert_eq!(agent.git(&["rev-parse", "mine"]), commit.as_str());
        assert_eq!(agent.git(&["status", "--porcelain"]), "?? c");
        let left = format!("left/{}", &commit.as_str()[..12]);
        assert_eq!(agent.held(&left), Some(commit));
    }
}

/// Writes an object of any content as git stores it, and returns its id.
fn plant(agent: &Agent, kind: &str, content: &[u8]) -> String {
    let file = agent.fixture.path().join("content");
    std::fs::write(&file, content).unwrap();
    agent.git(&[
        "hash-object",
        "-w",
        "--literally",
        "-t",
        kind,
        file.to_str().unwrap(),
    ])
}

fn loose(git_dir: &Path, id: &str) -> PathBuf {
    let (fan, rest) = id.split_at(2);
    git_dir.join("objects").join(fan).join(rest)
}

/// Puts something in the place of a file that is there or not.
fn replace(path: &Path, with: impl FnOnce(&Path)) {
    if path.symlink_metadata().is_ok() {
        std::fs::remove_file(path).unwrap();
    }
    with(path);
}

/// What is planted, and what plants it.
type Attack = (&'static str, fn(&Agent));

const ATTACKS: [Attack; 21] = [
    ("a configuration that names programs", |agent| {
        let planted = agent.fixture.planted();
        let planted = planted.display();
        let config = format!(
            "[core]\n\tfsmonitor = {planted}\n\thooksPath = {}\n\tsshCommand = {planted}\n\
                 \tworktree = /\n\tpager = {planted}\n[filter \"x\"]\n\tclean = {planted}\n\
                 \tsmudge = {planted}\n",
            agent.fixture.path().display()
        );
        std::fs::write(agent.git_dir().join("config"), config).unwrap();
        agent.write(&[(".gitattributes", "* filter=x\n")]);
        let hooks = agent.git_dir().join("hooks");
        for hook in ["pre-commit", "post-checkout", "reference-transaction"] {
            std::fs::copy(agent.fixture.planted(), hooks.join(hook)).unwrap();
        }
    }),
    ("links in the place of refs", |agent| {
        let users = agent.fixture.project().join(".git/refs/heads/main");
        let heads = agent.git_dir().join("refs/heads");
        symlink(&users, heads.join("link")).unwrap();
        symlink("/", heads.join("folder")).unwrap();
        replace(&agent.git_dir().join("MERGE_HEAD"), |path| {
            symlink(&users, path).unwrap();
        });
    }),
    ("pipes in the place of files", |agent| {
        for name in [
            "index",
            "packed-refs",
            "refs/heads/pipe",
            "logs/refs/stash",
            "refs/stash",
        ] {
            let path = agent.git_dir().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            replace(&path, make_pipe);
        }
    }),
    ("refs in a circle, and outside", |agent| {
        let refs = [
            ("refs/heads/a", "ref: refs/heads/b\n"),
            ("refs/heads/b", "ref: refs/heads/a\n"),
            ("HEAD", "ref: refs/heads/a\n"),
        ];
        for (name, content) in refs {
            std::fs::write(agent.git_dir().join(name), content).unwrap();
        }
    }),
    ("a HEAD that leads out", |agent| {
        let head = "ref: refs/heads/../../../../../../project/.git/refs/heads/main\n";
        std::fs::write(agent.git_dir().join("HEAD"), head).unwrap();
    }),
    ("names that no ref has", |agent| {
        let tip = agent.tip();
        let names = [
            "refs/heads/../../x",
            "refs/heads/a..b",
            "refs/heads/x.lock",
            "refs/heads/\u{1b}[31m",
            "refs/heads/orchestrate/r-test01/T2",
            "refs/orchestrate/keep/r-test01/T2/head",
            "HEAD",
            "config",
        ];
        let lines = names.map(|name| format!("{tip} {name}\n"));
        std::fs::write(agent.git_dir().join("packed-refs"), lines.concat()).unwrap();
    }),
    ("many refs", |agent| {
        let tip = agent.tip();
        let lines: String = (0..25_000)
            .map(|at| format!("{tip} refs/heads/many/{at}\n"))
            .collect();
        std::fs::write(agent.git_dir().join("packed-refs"), lines).unwrap();
    }),
    ("objects of another repository", |agent| {
        let other = agent.fixture.path().join("other");
        write_files(&other, &[("secret", "not shown\n")]);
        git_in(&other, &["init", "-q"]);
        git_in(&other, &["add", "-A"]);
        git_in(&other, &["commit", "-q", "-m", "secret"]);
        let commit = git_in(&other, &["rev-parse", "HEAD"]);
        let objects = other.join(".git/objects");
        let alternates = agent.git_dir().join("objects/info/alternates");
        std::fs::write(alternates, format!("{}\n", objects.display())).unwrap();
        let line = format!("{commit}\n");
        std::fs::write(agent.git_dir().join("refs/heads/stolen"), line).unwrap();
        // The same by a link to a single object.
        let from = loose(&other.join(".git"), &commit);
        let to = loose(&agent.git_dir(), &commit);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        symlink(from, to).unwrap();
    }),
    ("an object with another one's content", |agent| {
        let one = plant(agent, "blob", b"one");
        let two = plant(agent, "blob", b"two");
        replace(&loose(&agent.git_dir(), &two), |path| {
            std::fs::copy(loose(&agent.git_dir(), &one), path).unwrap();
        });
        let tree = agent.git_with("100644 blob", &two, "file");
        let commit = agent.git(&["commit-tree", "-m", "x", &tree]);
        agent.git(&["update-ref", "refs/heads/bad", &commit]);
    }),
    ("a tree with a file of git's own", |agent| {
        let blob = plant(agent, "blob", b"gitdir: /elsewhere");
        let id = (0..40)
            .step_by(2)
            .map(|at| u8::from_str_radix(&blob[at..at + 2], 16).unwrap());
        let id: Vec<u8> = id.collect();
        let tree = plant(agent, "tree", &[b"100644 .git\0", id.as_slice()].concat());
        let tip = agent.tip();
        let who = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n";
        let commit = format!("tree {tree}\nparent {tip}\n{who}");
        let commit = plant(agent, "commit", commit.as_bytes());
        std::fs::write(
            agent.git_dir().join("refs/heads/bad"),
            format!("{commit}\n"),
        )
        .unwrap();
    }),
    ("a history that is not there", |agent| {
        let tree = agent.repo.tree_of(&agent.tip()).unwrap();
        let who = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n";
        let parent = "1".repeat(40);
        let commit = format!("tree {tree}\nparent {parent}\n{who}");
        let commit = plant(agent, "commit", commit.as_bytes());
        std::fs::write(agent.git_dir().join("HEAD"), format!("{commit}\n")).unwrap();
    }),
    ("an object that grows", |agent| {
        let bomb = vec![0; 70 << 20];
        let blob = plant(agent, "blob", &bomb);
        let tree = agent.git_with("100644 blob", &blob, "bomb");
        let commit = agent.git(&["commit-tree", "-m", "x", &tree]);
        agent.git(&["update-ref", "refs/heads/bad", &commit]);
    }),
    ("packs that are none", |agent| {
        let folder = agent.git_dir().join("objects/pack");
        std::fs::create_dir_all(&folder).unwrap();
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        index.extend([0xff; 256 * 4]);
        std::fs::write(folder.join("pack-1.idx"), &index).unwrap();
        std::fs::write(folder.join("pack-1.pack"), b"PACK").unwrap();
        // One object, at a place that the pack does not have.
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        index.extend([0, 0, 0, 1].repeat(256));
        index.extend([0; 20 + 4]);
        index.extend([0x80, 0, 0, 0x7f]);
        std::fs::write(folder.join("pack-2.idx"), &index).unwrap();
        std::fs::write(folder.join("pack-2.pack"), b"PACK").unwrap();
        symlink("/dev/zero", folder.join("pack-3.idx")).unwrap();
        make_pipe(&folder.join("pack-4.idx"));
        let wanted = format!("{}1\n", "0".repeat(39));
        std::fs::write(agent.git_dir().join("refs/heads/bad"), wanted).unwrap();
    }),
    ("differences in a circle", |agent| {
        // An object that is a difference to itself, by its id.
        let id = [0x11; 20];
        let mut pack = b"PACK\0\0\0\x02\0\0\0\x01".to_vec();
        pack.push(7 << 4 | 5);
        pack.extend(id);
        pack.extend(b"x\x9c\x03\0\0\0\0\x01");
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        for first in 0..=255_u8 {
            index.extend([0, 0, 0, u8::from(first >= 0x11)]);
        }
        index.extend(id);
        index.extend([0; 4]);
        index.extend([0, 0, 0, 12]);
        let folder = agent.git_dir().join("objects/pack");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("pack-1.idx"), &index).unwrap();
        std::fs::write(folder.join("pack-1.pack"), &pack).unwrap();
        let line = format!("{}\n", "1".repeat(40));
        std::fs::write(agent.git_dir().join("refs/heads/bad"), line).unwrap();
    }),
    ("an index that is none", |agent| {
        let mut index = b"DIRC\0\0\0\x02\xff\xff\xff\xff".to_vec();
        index.extend([0; 62]);
        std::fs::write(agent.git_dir().join("index"), index).unwrap();
    }),
    ("an index with paths outside", |agent| {
        let blob = plant(agent, "blob", b"x");
        let git_dir = agent.git_dir();
        let index = std::fs::read(git_dir.join("index")).unwrap();
        agent.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            "100644",
            &blob,
            "xx/yy/zz",
        ]);
        let mut index_now = std::fs::read(git_dir.join("index")).unwrap();
        let at = index_now
            .windows(8)
            .position(|part| part == b"xx/yy/zz")
            .unwrap();
        index_now[at..at + 8].copy_from_slice(b"../../zz");
        std::fs::write(git_dir.join("index"), index_now).unwrap();
        assert!(!index.is_empty());
    }),
    ("folders in each other without end", |agent| {
        let blob = plant(agent, "blob", b"x");
        let path = format!("{}file", "d/".repeat(400));
        let entry = format!("100644,{blob},{path}");
        agent.git(&["update-index", "--add", "--cacheinfo", &entry]);
        // What is staged is not taken, nor what it is committed as.
        bad_commit(agent, &agent.git(&["write-tree"]), "");
    }),
    ("a parent that is a file of the repository", |agent| {
        let file = agent.git(&["rev-parse", "HEAD:a"]);
        let tree = agent.git(&["rev-parse", "HEAD^{tree}"]);
        bad_commit(agent, &tree, &format!("parent {file}\n"));
    }),
    ("an ancestor without an address", |agent| {
        let tree = agent.git(&["rev-parse", "HEAD^{tree}"]);
        let unsigned = format!("tree {tree}\nauthor x\ncommitter x\n\nx\n");
        let unsigned = plant(agent, "commit", unsigned.as_bytes());
        bad_commit(agent, &tree, &format!("parent {unsigned}\n"));
    }),
    ("a folder out of order", |agent| {
        let blob = plant(agent, "blob", b"x");
        let id: Vec<u8> = (0..20)
            .map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let entry = |name: &str| [format!("100644 {name}\0").as_bytes(), &id].concat();
        let tree = plant(agent, "tree", &[entry("b"), entry("a")].concat());
        bad_commit(agent, &tree, "");
    }),
    ("folders where files are written", |agent| {
        for name in ["HEAD", "index", "config", "packed-refs"] {
            let place = agent.git_dir().join(format!(".{name}.orchestrate-tmp"));
            std::fs::create_dir_all(place.join("full")).unwrap();
        }
    }),
];

/// Makes `refs/heads/bad` a commit of a tree, with more lines in its heading.
fn bad_commit(agent: &Agent, tree: &str, more: &str) {
    let who = "x <x@example.org> 1 +0000";
    let commit = format!("tree {tree}\n{more}author {who}\ncommitter {who}\n\nbad\n");
    let commit = plant(agent, "commit", commit.as_bytes());
    let bad = agent.git_dir().join("refs/heads/bad");
    std::fs::write(bad, format!("{commit}\n")).unwrap();
}

/// Whatever an agent puts into its git directory: no program runs, nothing outside is read or
/// written, nothing of the user's moves, and what it has committed before is held.
#[test]
fn a_crafted_git_directory_leads_nowhere() {
    for (name, attack) in ATTACKS {
        let agent = Agent::new();
        let held = agent.commit("held", "1\n");
        agent.git(&["branch", "held"]);
        agent.sync();
        let (tip, refs, state) = (agent.tip(), agent.users_refs(), agent.fixture.users_state());
        attack(&agent);
        let begun = std::time::Instant::now();
        agent.sync();
        let seen = agent.sync();
        assert!(begun.elapsed().as_secs() < 20, "{name}");
        assert!(!agent.fixture.canary().exists(), "{name}");
        assert_eq!(
            (agent.tip(), agent.users_refs()),
            (tip.clone(), refs),
            "{name}"
        );
        assert_eq!(agent.fixture.users_state(), state, "{name}");
        let has_secret = agent.fixture.git(&["log", "--all", "--format=%H"]);
        assert!(!has_secret.contains("stolen"), "{name}");
        assert!(agent.held("branch/stolen").is_none(), "{name}: {seen:?}");
        assert!(agent.held("branch/bad").is_none(), "{name}: {seen:?}");
        assert!(agent.repo.contains(&held, &tip).unwrap(), "{name}");
        let others = agent
            .fixture
            .git(&["for-each-ref", "refs/orchestrate/keep/r-test01/T2"]);
        assert_eq!(others, "", "{name}");
        agent.fixture.git(&["fsck", "--strict", "--no-dangling"]);
        // The work itself is taken as ever, and a commit of ours makes the agent's git follow.
        let tree = agent.repo.store().current_tree(&agent.worktree);
        if let Ok(tree) = tree {
            let made = agent
                .repo
                .commit(&agent.spec(tree, vec![tip.clone()]))
                .unwrap();
            let branch = "refs/heads/orchestrate/r-test01/T1";
            agent.repo.advance(branch, Some(&tip), &made).unwrap();
            assert_eq!(agent.sync().head, made, "{name}");
        }
    }
    // The control: git itself runs what is planted.
    let agent = Agent::new();
    let (_, plant_programs) = ATTACKS[0];
    plant_programs(&agent);
    agent.run(&["status"]);
    assert!(agent.fixture.canary().exists());
}

/// A process that was killed has not looked at what the agent did last.
#[test]
fn what_was_done_last_is_held_before_the_directory_goes() {
    let agent = Agent::new();
    let commit = agent.commit("c", "3\n");
    agent.write(&[("a", "set aside\n")]);
    agent.git(&["stash", "push", "-q"]);
    let (worktrees, tip) = (agent.repo.worktrees(), agent.tip());
    worktrees
        .hold_git(&agent.worktree, &agent.own(), &tip)
        .unwrap();
    assert_eq!(agent.held(HEAD), Some(commit));
    assert_eq!(agent.own().stashes(&agent.repo).unwrap().len(), 1);
    std::fs::remove_file(agent.worktree.path().join("c")).unwrap();
    let removed = worktrees.remove(&agent.worktree, &agent.fixture.trash());
    removed.unwrap().delete().unwrap();
    assert!(!agent.git_dir().exists());
    assert!(!agent.git_dir().ancestors().nth(2).unwrap().exists());
    // Nothing is left of it to be looked at.
    agent.fixture.git(&["fsck", "--strict"]);
}
