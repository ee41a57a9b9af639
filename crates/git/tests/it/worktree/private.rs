//! The git of an agent: what is done there with the git program and what our refs say follow each
//! other, and nothing that is planted there leads out of it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use orchestrate_core::{Oid, RunId, TaskId};
use orchestrate_git::own_refs::{HEAD, OwnRefs, SELECTED};
use orchestrate_git::{AgentsGit, CommitSpec, Identities, Identity, OurSide, Repo, Worktree};

use crate::support::{Fixture, read, write_files, write_program};

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
    let made = repo
        .commit(&agent.spec(tree.clone(), vec![tip.clone()]))
        .unwrap();
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
