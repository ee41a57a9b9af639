//! Temporary git repositories, and fingerprints of what a run must leave unchanged, byte for byte.
//!
//! The repositories use nothing from the git configuration of the user who runs the tests.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use libtest_mimic::Failed;
use tempfile::TempDir;

use super::path_of;

/// What users keep in the git directory, or what a merge or rebase of theirs would leave there.
/// Objects, the records of our worktrees and our branches are not theirs.
const WATCHED: [&str; 14] = [
    "HEAD",
    "index",
    "config",
    "config.worktree",
    "description",
    "hooks",
    "info",
    "refs/stash",
    "logs/HEAD",
    "logs/refs/stash",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "FETCH_HEAD",
    "shallow",
];

/// A git repository in a temporary directory, which is deleted on drop.
pub(crate) struct Repository {
    _dir: TempDir,
    path: PathBuf,
}

/// Everything of a checkout and its repository that belongs to the user, byte for byte.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Fingerprint(BTreeMap<String, Trace>);

#[derive(PartialEq, Eq, Debug)]
struct Trace {
    mode: u32,
    /// In nanoseconds; only for files of the checkout, where rewriting the same bytes is detected,
    /// too.
    modified: Option<i128>,
    content: Vec<u8>,
}

/// The files of a repository that is made once and then copied: one process of git instead of a
/// dozen.
struct Template(OnceLock<Result<Vec<Entry>, String>>);

/// A file of a template, or a folder, which has no content; a folder comes before what it contains.
struct Entry {
    name: PathBuf,
    content: Option<Vec<u8>>,
    permissions: fs::Permissions,
}

impl Template {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns a copy of the repository that the first call makes.
    fn copy(
        &self,
        make: impl FnOnce() -> Result<Repository, Failed>,
    ) -> Result<Repository, Failed> {
        let read = || {
            let mut entries = Vec::new();
            read_below(&make()?.path, Path::new(""), &mut entries)?;
            Ok(entries)
        };
        let made = self.0.get_or_init(|| {
            read().map_err(|failure: Failed| failure.message().unwrap_or_default().to_owned())
        });
        let repository = Repository::folder()?;
        for Entry {
            name,
            content,
            permissions,
        } in made.as_ref().map_err(Failed::from)?
        {
            let path = repository.path.join(name);
            match content {
                Some(content) => fs::write(&path, content)?,
                None => fs::create_dir(&path)?,
            }
            fs::set_permissions(&path, permissions.clone())?;
        }
        // The index has the times of other files, by which git would take these for changed ones.
        repository.git(&["update-index", "-q", "--refresh"])?;
        Ok(repository)
    }
}

/// Adds everything below `root/folder`; there are no links.
fn read_below(root: &Path, folder: &Path, entries: &mut Vec<Entry>) -> Result<(), Failed> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let (name, is_folder) = (folder.join(entry.file_name()), entry.file_type()?.is_dir());
        let content = if is_folder {
            None
        } else {
            Some(fs::read(entry.path())?)
        };
        entries.push(Entry {
            name: name.clone(),
            content,
            permissions: entry.metadata()?.permissions(),
        });
        if is_folder {
            read_below(root, &name, entries)?;
        }
    }
    Ok(())
}

impl Repository {
    /// Creates a repository on branch `main` without a commit, with an identity for the tests.
    pub(crate) fn unborn() -> Result<Self, Failed> {
        static MADE: Template = Template::new();
        MADE.copy(Self::make_unborn)
    }

    /// Creates a repository with one commit of two files, `README.md` and `src/lib.txt`.
    pub(crate) fn plain() -> Result<Self, Failed> {
        static MADE: Template = Template::new();
        MADE.copy(Self::make_plain)
    }

    /// Creates a repository as users have them: with staged, unstaged, untracked and ignored files,
    /// a stash, a second branch and a hook.
    pub(crate) fn lived_in() -> Result<Self, Failed> {
        static MADE: Template = Template::new();
        MADE.copy(Self::make_lived_in)
    }

    /// Creates an empty folder for a repository.
    fn folder() -> Result<Self, Failed> {
        let dir = tempfile::Builder::new()
            .prefix("orchestrate-repository-")
            .tempdir()?;
        let path = dir.path().canonicalize()?.join("project");
        fs::create_dir(&path)?;
        Ok(Self { _dir: dir, path })
    }

    fn make_unborn() -> Result<Self, Failed> {
        let repository = Self::folder()?;
        repository.git(&["init", "-q", "-b", "main"])?;
        repository.identify()?;
        Ok(repository)
    }

    fn identify(&self) -> Result<(), Failed> {
        self.git(&["config", "user.name", "Test"])?;
        self.git(&["config", "user.email", "test@example.invalid"])
            .map(drop)
    }

    fn make_plain() -> Result<Self, Failed> {
        let repository = Self::make_unborn()?;
        repository.write("README.md", "# sample\n")?;
        repository.write("src/lib.txt", "one\ntwo\nthree\n")?;
        repository.commit_all("Start")?;
        Ok(repository)
    }

    fn make_lived_in() -> Result<Self, Failed> {
        let repository = Self::make_plain()?;
        repository.write(".gitignore", "*.log\n")?;
        repository.write("kept.txt", "kept\n")?;
        repository.commit_all("Keep more")?;
        repository.git(&["branch", "other", "HEAD~1"])?;
        repository.write("kept.txt", "stashed\n")?;
        repository.git(&["stash", "push", "-q", "-m", "half an idea"])?;
        repository.write("staged.txt", "staged\n")?;
        repository.git(&["add", "staged.txt"])?;
        repository.write("staged.txt", "staged, then edited\n")?;
        repository.write("src/lib.txt", "one\nTWO\nthree\n")?;
        repository.write("untracked/new file.txt", "untracked\n")?;
        repository.write("debug.log", "ignored\n")?;
        let hook = repository.path.join(".git/hooks/pre-commit");
        fs::create_dir_all(repository.path.join(".git/hooks"))?;
        fs::write(&hook, "#!/bin/sh\nexit 0\n")?;
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))?;
        Ok(repository)
    }

    /// Clones this project; the clone's branch `main` is the commit that is checked out here, on
    /// whatever branch.
    pub(crate) fn clone_of_project() -> Result<Self, Failed> {
        let dir = tempfile::Builder::new()
            .prefix("orchestrate-repository-")
            .tempdir()?;
        let path = dir.path().canonicalize()?.join("project");
        let project = Self::of_project()?.display().to_string();
        // On a build machine the checkout may belong to another user than the one who runs the
        // tests. The git process that clones reads this setting from a configuration file only.
        let trusting = dir.path().join("gitconfig");
        fs::write(&trusting, "[safe]\n\tdirectory = *\n")?;
        git_with(
            &trusting,
            dir.path(),
            &["clone", "-q", "--no-checkout", &project, "project"],
        )?;
        let repository = Self { _dir: dir, path };
        repository.git(&["checkout", "-q", "-B", "main", "HEAD"])?;
        repository.identify()?;
        Ok(repository)
    }

    /// Returns the root of the checkout that these tests were built from, if it has a commit.
    pub(crate) fn of_project() -> Result<PathBuf, Failed> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let ask = |question: &[&str]| {
            git(
                root,
                &[&["-c", "safe.directory=*", "rev-parse"], question].concat(),
            )
        };
        ask(&["--verify", "-q", "HEAD^{commit}"])?;
        ask(&["--show-toplevel"]).map(PathBuf::from)
    }

    /// Returns the root of the checkout.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs git in the checkout and returns its standard output without newlines at the end.
    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String, Failed> {
        git(&self.path, arguments)
    }

    /// Writes a file of the checkout and creates the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        let path = self.path.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text).map_err(Failed::from)
    }

    /// Reads a file of the checkout.
    pub(crate) fn read(&self, name: &str) -> Result<String, Failed> {
        fs::read_to_string(self.path.join(name))
            .map_err(|error| Failed::from(format!("{name}: {error}")))
    }

    /// Commits all changes and returns the new commit.
    pub(crate) fn commit_all(&self, message: &str) -> Result<String, Failed> {
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", message])?;
        self.git(&["rev-parse", "HEAD"])
    }

    /// Returns the path of the worktree whose folder has a task's name.
    pub(crate) fn worktree(&self, task: &str) -> Result<PathBuf, Failed> {
        let listed = self.git(&["worktree", "list", "--porcelain"])?;
        let mut paths = listed
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "))
            .map(PathBuf::from);
        paths
            .find(|path| path.ends_with(task))
            .ok_or_else(|| Failed::from(listed.as_str()))
    }

    /// Returns the text of a file in a commit, without newlines at its end.
    pub(crate) fn show(&self, revision: &str, name: &str) -> Result<String, Failed> {
        self.git(&["show", &format!("{revision}:{name}")])
    }

    /// Records everything that a run must not touch.
    pub(crate) fn fingerprint(&self) -> Result<Fingerprint, Failed> {
        let mut traces = BTreeMap::new();
        trace(&self.path, Path::new(""), true, &mut traces)?;
        for name in WATCHED {
            let path = Path::new(".git").join(name);
            if self.path.join(&path).symlink_metadata().is_ok() {
                trace(&self.path, &path, false, &mut traces)?;
            }
        }
        let format = "--format=%(refname) %(objectname) %(symref)";
        for line in self.git(&["for-each-ref", format])?.lines() {
            if !line.starts_with("refs/heads/orchestrate/")
                && !line.starts_with("refs/orchestrate/")
            {
                traces.insert(
                    format!("ref {line}"),
                    Trace {
                        mode: 0,
                        modified: None,
                        content: Vec::new(),
                    },
                );
            }
        }
        Ok(Fingerprint(traces))
    }
}

/// Adds `root/name` and everything below it. With `timed`, which is for the checkout, modification
/// times are recorded and the git directory is left out; [`WATCHED`] lists what is recorded there.
fn trace(
    root: &Path,
    name: &Path,
    timed: bool,
    traces: &mut BTreeMap<String, Trace>,
) -> Result<(), Failed> {
    let path = root.join(name);
    let metadata = path.symlink_metadata()?;
    if metadata.is_dir() {
        for entry in fs::read_dir(&path)? {
            let child = name.join(entry?.file_name());
            if !(timed && child == Path::new(".git")) {
                trace(root, &child, timed, traces)?;
            }
        }
    }
    let content = if metadata.is_symlink() {
        fs::read_link(&path)?.into_os_string().into_encoded_bytes()
    } else if metadata.is_file() {
        fs::read(&path)?
    } else {
        Vec::new()
    };
    let nanoseconds =
        i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    let modified = (timed && metadata.is_file()).then_some(nanoseconds);
    traces.insert(
        name.display().to_string(),
        Trace {
            mode: metadata.mode(),
            modified,
            content,
        },
    );
    Ok(())
}

impl Fingerprint {
    /// Requires the same files and branches, byte for byte; times and git's own records may differ.
    pub(crate) fn require_same_bytes(&self, after: &Fingerprint) -> Result<(), Failed> {
        self.without_times().require_same(&after.without_times())
    }

    fn without_times(&self) -> Fingerprint {
        let files = self.0.iter().filter(|(name, _)| !name.starts_with(".git/"));
        let timeless = |trace: &Trace| Trace {
            mode: trace.mode,
            modified: None,
            content: trace.content.clone(),
        };
        Fingerprint(
            files
                .map(|(name, trace)| (name.clone(), timeless(trace)))
                .collect(),
        )
    }

    /// Fails with a list of the differences.
    pub(crate) fn require_same(&self, after: &Fingerprint) -> Result<(), Failed> {
        let gone = self
            .0
            .keys()
            .filter(|name| !after.0.contains_key(*name))
            .map(|name| format!("gone: {name}"));
        let new = after
            .0
            .keys()
            .filter(|name| !self.0.contains_key(*name))
            .map(|name| format!("new: {name}"));
        let changed = self
            .0
            .iter()
            .filter(|(name, trace)| after.0.get(*name).is_some_and(|other| other != *trace))
            .map(|(name, _)| format!("changed: {name}"));
        let differences: Vec<String> = gone.chain(new).chain(changed).collect();
        if differences.is_empty() {
            Ok(())
        } else {
            Err(Failed::from(differences.join("\n")))
        }
    }
}

/// Runs git in a directory with the repository's configuration alone and fixed commit times.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> Result<String, Failed> {
    git_with(Path::new("/dev/null"), directory, arguments)
}

/// Runs git as [`git`] does, with this file as the user's configuration.
fn git_with(configuration: &Path, directory: &Path, arguments: &[&str]) -> Result<String, Failed> {
    let output = Command::new(path_of("git"))
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs([("HOME", "/nonexistent"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .env("GIT_CONFIG_GLOBAL", configuration)
        .envs([
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
        ])
        .envs([
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_COMMITTER_DATE", "1700000000 +0000"),
        ])
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(Failed::from(format!(
            "git {}: {stderr}",
            arguments.join(" ")
        )));
    }
    Ok(String::from_utf8(output.stdout)?
        .trim_end_matches('\n')
        .to_owned())
}
