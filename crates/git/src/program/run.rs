//! The git program: the only place that starts it.
//!
//! Every process gets a cleared environment and explicit directories (git never searches upwards
//! from a tree that an agent can write). It has no hooks, no monitors, no background work, no
//! prompts and no optional locks, and it fetches nothing. It does not see the configuration of the
//! user or the machine. A process that reads or writes files does not see the repository's
//! configuration either: it runs in a git directory of ours (`scratch_repo.rs`), and settings are
//! passed by value (`configuration.rs`). Only processes that move refs run in the repository
//! itself; these read no file content.
//!
//! Git runs in its own process group, so that Ctrl-C in the terminal does not interrupt it.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orchestrate_core::collections::Mutex;
use orchestrate_sandbox::{
    Cancel, SandboxError, Trusted, TrustedOutput, trusted, trusted_program, untrusted_program,
};

use crate::error::GitError;
use crate::error::refusal::RepositoryRefusal;
use crate::program::lock::Held;
use crate::program::scratch_repo::ScratchRepo;
use crate::version::{OLDEST, Version};

/// What keeps ssh from asking, and from waiting for a host that does not answer.
const SILENT: &str = " -o BatchMode=yes -o ConnectTimeout=30";
/// The protocols by which git reaches remotes; any other one is a program that an address names.
const REMOTE_PROTOCOLS: &str = "https:http:ssh:git:file";

/// The time limit for one git process. An index of 100,000 files is written in seconds, so a
/// process that takes longer hangs.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(600);
/// The time limit for reading the configuration, which is a few small files. If it is exceeded, one
/// of them is a pipe or is on a file system that does not respond.
const CONFIGURATION_TIMEOUT: Duration = Duration::from_secs(10);
/// How many characters of git's complaint an error repeats.
const MAX_COMPLAINT: usize = 2_000;
/// The variables kept from our own environment: where the user's configuration and programs are.
const KEPT_ENVIRONMENT: [&str; 6] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
];
/// The variables with which the user locates the configuration, or sets it directly, besides
/// [`NUMBERED_CONFIGURATION`].
const CONFIGURATION_ENVIRONMENT: [&str; 5] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
];
/// Further variables for a commit of the user's: its dates, and what a signing program needs to
/// find the user's keys and to ask for a passphrase.
const COMMIT_ENVIRONMENT: [&str; 13] = [
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_DATE",
    "TZ",
    "GNUPGHOME",
    "GPG_TTY",
    "TERM",
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
];
/// Further variables for a push of the user's: how to reach a server, and who opens pull requests
/// there.
const PUSH_ENVIRONMENT: [&str; 15] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_HOST",
    "GITLAB_TOKEN",
    "GITLAB_HOST",
];
/// The prefixes of the variables whose number is in `GIT_CONFIG_COUNT`.
const NUMBERED_CONFIGURATION: [&str; 2] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];
/// Variables that are always set: English messages, no prompts, no optional locks, no replaced
/// objects, literal paths, and no fetching, for which versions of git know two different variables.
const FIXED_ENVIRONMENT: [(&str, &str); 7] = [
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
];
/// Variables that hide the configuration of the user and the machine from git.
const NO_CONFIGURATION: [(&str, &str); 3] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
];
/// The settings of every process: nothing that a repository configures is run, nothing is signed,
/// and no garbage is collected.
const HYGIENE: [(&str, &str); 14] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.fsync", "committed,reference"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("branch.autoSetupMerge", "false"),
    ("submodule.recurse", "false"),
    ("advice.detachedHead", "false"),
    ("checkout.guess", "false"),
    ("worktree.guessRemote", "false"),
    ("worktree.useRelativePaths", "false"),
];

/// The git program, and the environment and limits with which it is started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    version: Version,
    environment: Environment,
    /// Kills its processes, except those that outlive us.
    cancel: Cancel,
    /// The time limit for reading the configuration.
    configuration_timeout: Duration,
}

/// The environment variables that affect git: where the user's programs and files are, and what
/// selects the configuration.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Takes the relevant variables from the environment of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "git itself goes by these, and it is asked what it makes of them"
    )]
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// Returns the value of a variable as a path.
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, path)| path.into())
    }

    /// Returns the variables that only a commit of the user's needs.
    fn of_commit(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        COMMIT_ENVIRONMENT.into_iter().filter_map(|name| {
            let (_, value) = self.variables.iter().find(|(found, _)| found == name)?;
            Some((name, value.clone()))
        })
    }

    /// Returns the variables that say where the user's programs and files are.
    fn kept(&self) -> impl Iterator<Item = &(OsString, OsString)> {
        self.variables
            .iter()
            .filter(|(name, _)| KEPT_ENVIRONMENT.iter().any(|kept| name == kept))
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self {
            variables: variables
                .into_iter()
                .filter(|(name, _)| is_for_git(name))
                .collect(),
        }
    }
}

fn is_for_git(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_numbered = NUMBERED_CONFIGURATION
        .iter()
        .any(|begin| name.starts_with(begin));
    let is_named = |names: &[&str]| names.contains(&name.as_ref());
    let is_of_user = is_named(&COMMIT_ENVIRONMENT) || is_named(&PUSH_ENVIRONMENT);
    is_numbered || is_of_user || is_named(&KEPT_ENVIRONMENT) || is_named(&CONFIGURATION_ENVIRONMENT)
}

/// Returns the version of the git program that would be used, for example `2.47`, and its path.
///
/// # Errors
/// If there is no git, or it cannot be used.
pub fn installed() -> Result<(String, PathBuf), RepositoryRefusal> {
    let Program { path, version, .. } = Program::find()?;
    Ok((version.to_string(), path))
}

/// A program that has been asked for its version, as its file was then.
struct Asked {
    path: PathBuf,
    inode: u64,
    modified: (i64, i64),
    version: Version,
}

/// Returns the version of a git program that can be used. It is asked once in a process, as long as
/// its file stays the same: each repository that is opened looks for the program.
fn version_of(path: &Path, environment: &Environment) -> Result<Version, RepositoryRefusal> {
    static LAST: Mutex<Option<Asked>> = Mutex::new(None);
    let file = path.metadata().map_err(|error| unstartable(path, &error))?;
    let (inode, modified) = (file.ino(), (file.mtime(), file.mtime_nsec()));
    let mut last = LAST.lock();
    if let Some(asked) = &*last
        && asked.path == path
        && asked.inode == inode
        && asked.modified == modified
    {
        return Ok(asked.version);
    }
    let printed = bare(path, environment).arg("--version").output();
    let printed = printed.map_err(|error| unstartable(path, &error))?;
    let text = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    let version = match Version::parse(&text) {
        Some(version) if version >= OLDEST => version,
        _ => {
            let path = path.to_owned();
            return Err(RepositoryRefusal::GitTooOld { path, found: text });
        }
    };
    *last = Some(Asked {
        path: path.to_owned(),
        inode,
        modified,
        version,
    });
    Ok(version)
}

fn unstartable(path: &Path, error: &dyn Display) -> RepositoryRefusal {
    RepositoryRefusal::GitUnstartable {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

/// One invocation of git.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    /// The repository's own directory (`GIT_DIR`).
    pub(crate) git_dir: &'a Path,
    /// The working tree, which is also the current directory.
    pub(crate) work_tree: &'a Path,
    /// Additional settings.
    pub(crate) settings: Vec<(String, OsString)>,
    /// Additional environment variables.
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// The subcommand and its arguments.
    pub(crate) args: Vec<OsString>,
    /// The lock under which the process keeps running if we are killed; with `None` it is killed
    /// with us.
    pub(crate) outlives: Option<&'a Held>,
}

/// How git reaches a server.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    /// The folder of the objects that are sent, and to which those that come are added.
    pub(crate) objects: &'a Path,
    /// Folders of other objects that there are, as git lists them.
    pub(crate) borrowed: Option<OsString>,
    /// The maximum size of a file that is written; `None` for no limit.
    pub(crate) file_bytes: Option<u64>,
    /// The file that says where the history ends, in a clone that has only a part of it.
    pub(crate) shallow: Option<&'a Path>,
    pub(crate) timeout: Duration,
    /// Whether the user is there; if not, nothing may ask.
    pub(crate) is_attended: bool,
    /// The command by which the user's configuration starts ssh.
    pub(crate) ssh: Option<OsString>,
}

/// How a git process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    /// Standard error, decoded lossily.
    pub(crate) stderr: String,
}

impl Program {
    /// Finds git in the trusted folders of the search path, and asks it for its version.
    #[expect(
        clippy::disallowed_methods,
        reason = "the git program is looked for once, where the user has it"
    )]
    pub(crate) fn find() -> Result<Program, RepositoryRefusal> {
        Program::find_in(&std::env::var_os("PATH").unwrap_or_default())
    }

    /// Like [`Program::find`] with a given search path. Folders that cannot be trusted are skipped.
    pub(crate) fn find_in(search: &OsStr) -> Result<Program, RepositoryRefusal> {
        let Some(path) = trusted_program(search, "git") else {
            return Err(match untrusted_program(search, "git") {
                Some(untrusted) => RepositoryRefusal::GitNotTrusted(untrusted),
                None => RepositoryRefusal::GitMissing,
            });
        };
        let environment = Environment::of_process();
        let version = version_of(&path, &environment)?;
        let configuration_timeout = CONFIGURATION_TIMEOUT;
        Ok(Program {
            path,
            version,
            environment,
            cancel: Cancel::new(),
            configuration_timeout,
        })
    }

    /// Replaces the environment variables that affect git.
    pub(crate) fn with(self, environment: Environment) -> Self {
        Program {
            environment,
            ..self
        }
    }

    /// Returns the same program, with processes that are killed by `cancel`.
    pub(crate) fn killed_by(&self, cancel: &Cancel) -> Self {
        Program {
            cancel: cancel.clone(),
            ..self.clone()
        }
    }

    /// Returns the value that kills its processes.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns the same program with a time limit for reading the configuration.
    #[cfg(test)]
    pub(crate) fn reading_within(self, configuration_timeout: Duration) -> Self {
        Program {
            configuration_timeout,
            ..self
        }
    }

    /// Returns the absolute path of the program.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the version of the program.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Runs git until it ends, with any exit code.
    pub(crate) fn run(&self, run: &Run<'_>) -> Result<Ended, GitError> {
        let name = run
            .args
            .first()
            .map(|arg| arg.to_string_lossy().into_owned())
            .unwrap_or_default();
        ended(&self.prepare(run), &name)
    }

    /// Runs git until it ends, and returns its standard output. Fails if the exit code is not 0.
    pub(crate) fn require(&self, run: &Run<'_>) -> Result<Vec<u8>, GitError> {
        let name = run
            .args
            .first()
            .map(|arg| arg.to_string_lossy().into_owned())
            .unwrap_or_default();
        let ended = self.run(run)?;
        if ended.code == 0 {
            Ok(ended.stdout)
        } else {
            Err(ended.failure(&name))
        }
    }

    /// Runs a hook in the user's checkout, with the configuration that the user's own git would
    /// find.
    pub(crate) fn run_hook(
        &self,
        checkout: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Ended, GitError> {
        let run = self
            .as_user(&self.path)
            .args(["hook", "run", "--ignore-missing"])
            .args(args);
        ended(&run.current_dir(checkout), "hook run")
    }

    /// Runs git in a scratch repository with the user's configuration alone, to reach a server;
    /// returns `None` if it was not done in time.
    pub(crate) fn run_reach(
        &self,
        scratch: &ScratchRepo,
        reach: &Reach<'_>,
        command: &str,
        args: &[&str],
    ) -> Result<Option<Ended>, GitError> {
        let mut run = self
            .as_user(&self.path)
            .timeout(reach.timeout)
            .env("GIT_DIR", scratch.git_dir());
        run = run
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", REMOTE_PROTOCOLS);
        run = run
            .env("GIT_OBJECT_DIRECTORY", reach.objects)
            .env("LC_ALL", "C");
        if let Some(borrowed) = &reach.borrowed {
            run = run.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", borrowed);
        }
        if let Some(bytes) = reach.file_bytes {
            run = run.file_bytes(bytes);
        }
        if let Some(shallow) = reach.shallow {
            run = run.env("GIT_SHALLOW_FILE", shallow);
        }
        if !reach.is_attended {
            // A window that asks for a password would stay open. An empty GIT_ASKPASS also stands
            // before core.askPass.
            run = run
                .env("GIT_ASKPASS", "")
                .env("SSH_ASKPASS", "")
                .env("GCM_INTERACTIVE", "never");
            if let Some(ssh) = self.silent_ssh(reach.ssh.as_deref()) {
                run = run.env("GIT_SSH_COMMAND", ssh);
            }
        }
        let output = run
            .arg(command)
            .args(args)
            .current_dir(scratch.work_tree())
            .output();
        match output {
            Err(SandboxError::TrustedTimeout { .. }) => Ok(None),
            output => of_output(output, command).map(Some),
        }
    }

    /// Returns the command that starts ssh without any question, if it is ssh that the user has
    /// set.
    fn silent_ssh(&self, configured: Option<&OsStr>) -> Option<OsString> {
        let variable = |name: &str| self.environment.path(name).map(PathBuf::into_os_string);
        let command = variable("GIT_SSH_COMMAND").or_else(|| configured.map(OsStr::to_owned));
        let command = match (command, variable("GIT_SSH")) {
            (Some(command), _) => command,
            (None, Some(_)) => return None,
            (None, None) => "ssh".into(),
        };
        let program = command
            .to_string_lossy()
            .split_whitespace()
            .next()
            .map(str::to_owned)?;
        let is_ssh = Path::new(&program).file_name() == Some(OsStr::new("ssh"));
        is_ssh.then(|| [command, SILENT.into()].into_iter().collect())
    }

    /// Finds a program that opens pull requests, in the trusted folders of the search path.
    pub(crate) fn find_forge(&self, name: &str) -> Option<PathBuf> {
        trusted_program(self.environment.path("PATH")?.as_os_str(), name)
    }

    /// Runs a program that opens pull requests in a folder that is no repository.
    pub(crate) fn run_forge(
        &self,
        forge: &Path,
        folder: &Path,
        args: &[String],
    ) -> Result<Ended, GitError> {
        let name = forge
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        ended(&self.as_user(forge).args(args).current_dir(folder), &name)
    }

    /// Prepares a program that sees the user's environment and configuration as if the user had
    /// typed it.
    fn as_user(&self, program: &Path) -> Trusted {
        let begun = trusted(program).timeout(TIMEOUT);
        with(begun, &self.environment.variables).killed_by(&self.cancel)
    }

    /// Lists the configuration of a repository and its user: for each setting its scope, a zero
    /// byte, its key, a newline, its value and a zero byte.
    ///
    /// Git only reads files for this, and starts nothing. If it does not finish in time, that is a
    /// refusal without the name of the file.
    pub(crate) fn list_configuration(
        &self,
        git_dir: &Path,
        work_tree: &Path,
    ) -> Result<Vec<u8>, GitError> {
        let failed = |reason: String| GitError::Program {
            command: "config --list".to_owned(),
            reason,
        };
        let trusted = configured(&self.path, &self.environment)
            .env("GIT_DIR", git_dir)
            .env("GIT_WORK_TREE", work_tree);
        let args = ["config", "--list", "--includes", "--show-scope", "-z"];
        let trusted = trusted
            .args(args)
            .current_dir(work_tree)
            .killed_by(&self.cancel);
        let ended = trusted.timeout(self.configuration_timeout).output();
        if let Err(SandboxError::TrustedTimeout { seconds, .. }) = ended {
            let refusal = RepositoryRefusal::EndlessConfiguration {
                file: None,
                seconds,
            };
            return Err(GitError::Refused {
                path: work_tree.to_owned(),
                refusal,
            });
        }
        let output = understood(ended, "config --list")?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let complaint: String = String::from_utf8_lossy(&output.stderr)
            .trim()
            .chars()
            .take(MAX_COMPLAINT)
            .collect();
        Err(failed(complaint))
    }

    /// Lists the settings in one configuration file, without included files: for each setting its
    /// key, a newline, its value and a zero byte.
    pub(crate) fn list_file(&self, file: &Path) -> Result<Vec<u8>, GitError> {
        let args = ["config", "--no-includes", "--list", "-z", "--file"].map(OsStr::new);
        // There is no repository here, and with this setting git does not look for one.
        let nowhere = bare(&self.path, &self.environment)
            .env("GIT_DIR", "/dev/null")
            .current_dir("/");
        let trusted = nowhere
            .timeout(CONFIGURATION_TIMEOUT)
            .killed_by(&self.cancel);
        Ok(understood(trusted.args(args).arg(file).output(), "config --list")?.stdout)
    }

    /// Lists the files, existing or not, in which the user and the machine's administrator
    /// configure git.
    pub(crate) fn users_configuration(&self) -> Vec<PathBuf> {
        let variable = |name: &str| self.environment.path(name);
        let configuration =
            variable("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")));
        let usual = [
            configuration.map(|folder| folder.join("git/config")),
            self.home().map(|home| home.join(".gitconfig")),
        ];
        let own = match variable("GIT_CONFIG_GLOBAL") {
            Some(file) => vec![file],
            None => usual.into_iter().flatten().collect(),
        };
        let system = variable("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into());
        own.into_iter().chain([system]).collect()
    }

    /// Returns the user's home folder, if `HOME` is set.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.environment.path("HOME")
    }

    /// Returns the user's variables for a commit of the user's: its dates, and what a signing
    /// program needs.
    pub(crate) fn commit_environment(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        self.environment.of_commit()
    }

    fn prepare(&self, run: &Run<'_>) -> Trusted {
        let own = run
            .settings
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_os_str()));
        let settings: Vec<(&str, &OsStr)> = HYGIENE
            .into_iter()
            .map(|(key, value)| (key, OsStr::new(value)))
            .chain(own)
            .collect();
        let mut trusted =
            bare(&self.path, &self.environment).env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (at, (key, value)) in settings.into_iter().enumerate() {
            trusted = trusted
                .env(format!("GIT_CONFIG_KEY_{at}"), key)
                .env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        for (name, value) in &run.environment {
            trusted = trusted.env(name, value);
        }
        if let Some(parent) = run.work_tree.parent() {
            trusted = trusted.env("GIT_CEILING_DIRECTORIES", parent);
        }
        trusted = match run.outlives {
            Some(held) => held.files().fold(trusted, Trusted::outlives_us),
            None => trusted.killed_by(&self.cancel),
        };
        trusted
            .env("GIT_DIR", run.git_dir)
            .env("GIT_WORK_TREE", run.work_tree)
            .args(&run.args)
            .current_dir(run.work_tree)
    }
}

impl<'a> Run<'a> {
    /// Prepares a run of a subcommand.
    pub(crate) fn new(
        git_dir: &'a Path,
        work_tree: &'a Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        Run {
            git_dir,
            work_tree,
            settings: Vec::new(),
            environment: Vec::new(),
            args: args
                .into_iter()
                .map(|arg| arg.as_ref().to_owned())
                .collect(),
            outlives: None,
        }
    }

    /// Adds settings.
    pub(crate) fn settings(
        mut self,
        settings: impl IntoIterator<Item = (String, OsString)>,
    ) -> Self {
        self.settings.extend(settings);
        self
    }

    /// Keeps the process running under this lock if we are killed, for work that must not stop
    /// half-way.
    pub(crate) fn outlives_us(mut self, held: &'a Held) -> Self {
        self.outlives = Some(held);
        self
    }

    /// Adds an environment variable.
    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }
}

impl Ended {
    /// Turns an unexpected exit code into an error.
    pub(crate) fn failure(&self, command: &str) -> GitError {
        let complaint: String = self.stderr.trim().chars().take(MAX_COMPLAINT).collect();
        GitError::Program {
            command: command.to_owned(),
            reason: format!("exit code {}: {complaint}", self.code),
        }
    }
}

/// Quotes a path as git reads it from a list of folders, in which a colon would end it.
pub(crate) fn in_list(path: &Path) -> OsString {
    OsString::from_vec([b"\"", quoted(path.as_os_str().as_bytes()).as_slice(), b"\""].concat())
}

/// Escapes a text for use between quotation marks.
pub(crate) fn quoted(text: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            _ => quoted.push(*byte),
        }
    }
    quoted
}

/// Runs a git process until it ends, with any exit code.
fn ended(trusted: &Trusted, command: &str) -> Result<Ended, GitError> {
    of_output(trusted.output(), command)
}

/// Converts the output of a git process that has ended, with any exit code.
fn of_output(
    output: Result<TrustedOutput, SandboxError>,
    command: &str,
) -> Result<Ended, GitError> {
    let output = understood(output, command)?;
    let Some(code) = output.status.code() else {
        return Err(GitError::Program {
            command: command.to_owned(),
            reason: format!("it ended with {}", output.status),
        });
    };
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Ended {
        code,
        stdout: output.stdout,
        stderr,
    })
}

/// Converts an error of the sandbox to one of this crate.
fn understood(
    ended: Result<TrustedOutput, SandboxError>,
    command: &str,
) -> Result<TrustedOutput, GitError> {
    ended.map_err(|error| match error {
        SandboxError::TrustedKilled { .. } => GitError::Killed,
        error => GitError::Program {
            command: command.to_owned(),
            reason: error.to_string(),
        },
    })
}

/// Prepares a git process with only the needed variables of our environment, and no configuration.
fn bare(path: &Path, environment: &Environment) -> Trusted {
    let mut begun = trusted(path).timeout(TIMEOUT);
    for (name, value) in environment.kept() {
        begun = begun.env(name, value);
    }
    for (name, value) in FIXED_ENVIRONMENT.into_iter().chain(NO_CONFIGURATION) {
        begun = begun.env(name, value);
    }
    begun
}

fn with(mut begun: Trusted, variables: &[(OsString, OsString)]) -> Trusted {
    for (name, value) in variables {
        begun = begun.env(name, value);
    }
    begun
}

/// Prepares a git process that finds the configuration which the user's own git would find.
fn configured(path: &Path, environment: &Environment) -> Trusted {
    let mut begun = with(trusted(path).timeout(TIMEOUT), &environment.variables);
    for (name, value) in FIXED_ENVIRONMENT {
        begun = begun.env(name, value);
    }
    begun
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake_git(script: &str) -> (tempfile::TempDir, OsString) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("git");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let search = folder.path().as_os_str().to_owned();
        (folder, search)
    }

    #[test]
    fn an_old_git_is_refused_with_its_version() {
        let (folder, search) = fake_git("#!/bin/sh\necho git version 2.30.2\n");
        let refusal = Program::find_in(&search).unwrap_err();
        let path = folder.path().join("git");
        assert_eq!(
            refusal,
            RepositoryRefusal::GitTooOld {
                path,
                found: "git version 2.30.2".to_owned()
            }
        );
    }

    #[test]
    fn a_git_in_the_place_of_another_is_asked_for_its_version() {
        let (folder, search) = fake_git("#!/bin/sh\necho git version 2.45.0\n");
        assert_eq!(Program::find_in(&search).unwrap().version(), Version(2, 45));
        let (other, _) = fake_git("#!/bin/sh\necho git version 2.30.2\n");
        std::fs::rename(other.path().join("git"), folder.path().join("git")).unwrap();
        assert!(matches!(
            Program::find_in(&search).unwrap_err(),
            RepositoryRefusal::GitTooOld { .. }
        ));
    }

    #[test]
    fn an_absent_git_and_relative_folders_are_refused() {
        assert_eq!(
            Program::find_in(OsStr::new("/nowhere:.:bin")).unwrap_err(),
            RepositoryRefusal::GitMissing
        );
    }

    #[test]
    fn a_git_that_others_could_have_put_there_is_refused_by_name() {
        let (folder, search) = fake_git("#!/bin/sh\necho git version 2.45.0\n");
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let refusal = Program::find_in(&search).unwrap_err();
        assert_eq!(
            refusal,
            RepositoryRefusal::GitNotTrusted(folder.path().join("git"))
        );
    }
}
