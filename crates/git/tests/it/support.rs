//! A real repository in a temporary folder, and helpers to examine it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use orchestrate_core::Oid;
use orchestrate_git::{
    CommitSpec, Environment, GitError, Identities, Identity, Repo, Snapshot, SnapshotRules,
    Worktree, WorktreeSpec,
};
use orchestrate_sandbox::Confinement;

/// Returns the text of a file that is there.
pub(crate) fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A repository with one commit, a folder for worktrees, and a program that must not run.
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    /// Creates a repository whose first commit has these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Fixture {
        let fixture = Fixture {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(fixture.project()).unwrap();
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture.git(&["config", "user.name", "Test"]);
        fixture.git(&["config", "user.email", "test@example.invalid"]);
        fixture.commit_files(files, "first");
        fixture
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    pub(crate) fn trash(&self) -> PathBuf {
        self.path().join("trash")
    }

    /// Returns the path of a file that only a program which must not run would create.
    pub(crate) fn canary(&self) -> PathBuf {
        self.path().join("canary")
    }

    /// Creates a program that creates the canary and copies its input, and returns its path.
    pub(crate) fn planted(&self) -> PathBuf {
        let path = self.path().join("planted");
        write_program(
            &path,
            &format!("#!/bin/sh\ntouch '{}'\ncat\n", self.canary().display()),
        );
        path
    }

    pub(crate) fn repo(&self) -> Repo {
        self.open(&self.project()).unwrap()
    }

    /// Opens a repository as a run does.
    pub(crate) fn open(&self, start: &Path) -> Result<Repo, GitError> {
        // The tier in which worktrees are at their own paths.
        Ok(Repo::open_as(start, &self.state(), self.environment())?
            .confined_in(Confinement::Fallback))
    }

    /// Returns the environment for git: the user's own configuration is the fixture's.
    fn environment(&self) -> Environment {
        let own = [
            (
                "GIT_CONFIG_GLOBAL",
                self.users_configuration().into_os_string(),
            ),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ];
        let own = own.map(|(name, value)| (name.into(), value));
        let around =
            std::env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_"));
        around.chain(own).collect()
    }

    fn users_configuration(&self) -> PathBuf {
        self.path().join("gitconfig")
    }

    /// Sets a value in the user's own configuration.
    pub(crate) fn configure(&self, key: &str, value: &str) {
        self.git(&[
            "config",
            "--file",
            self.users_configuration().to_str().unwrap(),
            key,
            value,
        ]);
    }

    /// Returns the folder of this program's state.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.project(), args)
    }

    /// Writes files into the user's checkout and commits everything.
    pub(crate) fn commit_files(&self, files: &[(&str, &str)], message: &str) -> Oid {
        write_files(&self.project(), files);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.tip("HEAD")
    }

    pub(crate) fn tip(&self, rev: &str) -> Oid {
        Oid::new(self.git(&["rev-parse", rev]))
    }

    pub(crate) fn spec(&self, name: &str) -> WorktreeSpec {
        WorktreeSpec {
            path: self.path().join("worktrees").join(name),
            branch: Some(format!("orchestrate/r-test01/{name}")),
            base: self.tip("HEAD"),
            lock_reason: "orchestrate r-test01".to_owned(),
            times: None,
        }
    }

    pub(crate) fn worktree(&self, repo: &Repo, name: &str) -> Worktree {
        repo.worktrees().add(&self.spec(name)).unwrap()
    }

    /// Returns the files of a tree, as git reads them: mode and content by path.
    pub(crate) fn files_of(&self, tree: &Oid) -> BTreeMap<Vec<u8>, (String, String)> {
        let listed = git_bytes(&self.project(), &["ls-tree", "-r", "-z", tree.as_str()]);
        let mut files = BTreeMap::new();
        for line in listed
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty())
        {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            let words: Vec<String> = String::from_utf8_lossy(&line[..tab])
                .split(' ')
                .map(str::to_owned)
                .collect();
            let content = match words[1].as_str() {
                "blob" => git_bytes(&self.project(), &["cat-file", "blob", &words[2]]),
                _ => words[2].clone().into_bytes(),
            };
            let content = String::from_utf8_lossy(&content).into_owned();
            files.insert(line[tab + 1..].to_vec(), (words[0].clone(), content));
        }
        files
    }

    /// Snapshots a worktree and commits it to its branch.
    pub(crate) fn commit(&self, repo: &Repo, worktree: &Worktree, parents: &[&Oid]) -> Oid {
        let Snapshot { tree, .. } = repo
            .store()
            .snapshot(worktree, &SnapshotRules::default())
            .unwrap();
        let commit = repo.commit(&commit_spec(tree, parents)).unwrap();
        let name = format!("refs/heads/{}", worktree.branch().unwrap());
        let before = repo.read_ref(&name).unwrap();
        repo.advance(&name, before.as_ref(), &commit).unwrap();
        commit
    }

    /// Returns everything of the user's that a run must not change: files, index, stash, refs and
    /// configuration.
    pub(crate) fn users_state(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut state = BTreeMap::new();
        let project = self.project();
        let ours = [
            ".git/objects",
            ".git/worktrees",
            ".git/refs/heads/orchestrate",
            ".git/refs/orchestrate",
            ".git/logs/refs/heads/orchestrate",
        ];
        let skipped = |path: &Path| {
            ours.iter()
                .any(|ours| path.strip_prefix(&project).unwrap() == Path::new(ours))
        };
        collect(&project, &skipped, &mut state);
        state
    }
}

pub(crate) fn commit_spec(tree: Oid, parents: &[&Oid]) -> CommitSpec {
    let agent = Identity {
        name: "Agent".to_owned(),
        email: "agent@example.invalid".to_owned(),
    };
    CommitSpec {
        tree,
        parents: parents.iter().map(|oid| (*oid).clone()).collect(),
        message: "work".to_owned(),
        trailers: vec![("Orchestrate-Task".to_owned(), "T1".to_owned())],
        by: Identities {
            author: agent.clone(),
            committer: agent,
        },
        time_unix: 1_700_000_000,
    }
}

pub(crate) fn write_files(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

pub(crate) fn git_in(folder: &Path, args: &[&str]) -> String {
    String::from_utf8(git_bytes(folder, args))
        .unwrap()
        .trim_end()
        .to_owned()
}

fn git_bytes(folder: &Path, args: &[&str]) -> Vec<u8> {
    let output = command(folder, args).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {complaint}");
    output.stdout
}

/// Returns a git command as a user would run it, without the settings of the person who runs the
/// tests.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(args).current_dir(folder);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Test")
            .env(format!("GIT_{who}_EMAIL"), "test@example.invalid")
            .env(format!("GIT_{who}_DATE"), "1700000000 +0000");
    }
    command
}

/// Writes an executable file, in a process of its own: a program that another test starts meanwhile
/// would have a copy of a file that is open here until it is executed itself, and no file that is
/// open for writing can be executed.
pub(crate) fn write_program(path: &Path, text: &str) {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let written = shell
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(text.as_bytes()));
    assert!(shell.wait().unwrap().success());
    written.unwrap().unwrap();
}

pub(crate) fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn collect(folder: &Path, skipped: &dyn Fn(&Path) -> bool, state: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if skipped(&path) {
            continue;
        }
        let meta = path.symlink_metadata().unwrap();
        if meta.is_dir() {
            collect(&path, skipped, state);
        } else if meta.is_symlink() {
            let target = std::fs::read_link(&path).unwrap();
            state.insert(path, target.into_os_string().into_encoded_bytes());
        } else {
            let bytes = std::fs::read(&path).unwrap();
            state.insert(path, bytes);
        }
    }
}
