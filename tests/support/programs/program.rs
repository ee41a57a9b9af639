//! Runs the built program with private directories and an environment that is defined here
//! completely.
//!
//! Every wait has a time limit. A program that still runs when its owner is dropped is killed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::path_of;

/// How long a program may take unless the test sets another limit; long enough for a loaded
/// machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the pipes of a program may stay open after its end.
const PIPE_PATIENCE: Duration = Duration::from_secs(5);
/// The interval at which [`until`] polls.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// The maximum number of lines that are queued for [`Running::line`]. Further lines are dropped
/// there, but are still part of the collected output.
const LINES_AHEAD: usize = 4096;

/// The user's directories (home, configuration, state, cache) of one test, deleted on drop.
pub(crate) struct Home {
    dir: TempDir,
}

/// A program about to be started.
pub(crate) struct Invocation {
    pub(super) command: Command,
    stdin: Vec<u8>,
    pub(super) patience: Duration,
}

/// A running program; it is killed on drop.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    stdout: Collected,
    stderr: Collected,
    patience: Duration,
}

/// The output of a pipe so far, and a message when the pipe has ended.
struct Collected {
    text: Arc<Mutex<String>>,
    ended: Receiver<()>,
}

/// The result of a program that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code, or 128 plus the signal that ended the program, as shells report it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    /// Creates an empty directory; the directories below it do not exist yet.
    pub(crate) fn new() -> Result<Self, Failed> {
        let dir = tempfile::Builder::new()
            .prefix("orchestrate-home-")
            .tempdir()?;
        Ok(Self { dir })
    }

    /// Returns the directory that contains all others; a test may put its own files there.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the directory that holds the program's state.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state/orchestrate")
    }

    /// Opens the lock file of the only repository that was used with this home.
    pub(crate) fn lock(&self) -> Result<File, Failed> {
        let mut folders = std::fs::read_dir(self.state().join("git"))?;
        let folder = folders.next().ok_or("no repository has a folder")??;
        Ok(File::options()
            .read(true)
            .write(true)
            .open(folder.path().join("lock"))?)
    }

    /// Prepares to start the built program in a directory.
    pub(crate) fn orchestrate(&self, directory: &Path, arguments: &[&str]) -> Invocation {
        self.command(env!("CARGO_BIN_EXE_orchestrate"), directory, arguments)
    }

    /// Prepares to start the built program in a mount namespace of its own, which a shell script
    /// has changed first. Needs `Need::MOUNTS`.
    pub(crate) fn remounted(
        &self,
        script: &str,
        directory: &Path,
        arguments: &[&str],
    ) -> Invocation {
        let script = format!("set -e; {script}; exec \"$@\"");
        let shell = [
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            &script,
            "sh",
            env!("CARGO_BIN_EXE_orchestrate"),
        ];
        self.command("unshare", directory, &[&shell, arguments].concat())
    }

    /// Prepares to start any other program in the same environment.
    pub(crate) fn command(
        &self,
        program: &str,
        directory: &Path,
        arguments: &[&str],
    ) -> Invocation {
        let mut command = Command::new(path_of(program));
        command
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(self.environment());
        Invocation {
            command,
            stdin: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// Returns the program's whole environment: no API key, no git identity, no configuration.
    fn environment(&self) -> BTreeMap<&'static str, OsString> {
        let below = |name: &str| self.path().join(name).into_os_string();
        BTreeMap::from([
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("LC_ALL", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("HOME", below("home")),
            ("XDG_CONFIG_HOME", below("config")),
            ("XDG_STATE_HOME", below("state")),
            ("XDG_CACHE_HOME", below("cache")),
            ("XDG_DATA_HOME", below("data")),
            ("XDG_RUNTIME_DIR", below("runtime")),
        ])
    }
}

impl Invocation {
    /// Sets a variable of the environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Lets the program find the Rust toolchain of the user who runs the tests.
    pub(crate) fn with_toolchain(mut self) -> Self {
        let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            let value =
                std::env::var_os(name).unwrap_or_else(|| home.join(folder).into_os_string());
            self.command.env(name, value);
        }
        self
    }

    /// Sets what the program reads on standard input; nothing otherwise.
    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets how long the program may take, [`PATIENCE`] otherwise.
    pub(crate) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs the program to its end and returns its output.
    pub(crate) fn run(self) -> Result<Ran, Failed> {
        self.start()?.end()
    }

    /// Starts the program without waiting for its end.
    pub(crate) fn start(mut self) -> Result<Running, Failed> {
        let bytes = std::mem::take(&mut self.stdin);
        let (running, mut stdin) = self.start_open()?;
        // A program that does not read its input does not fail the test.
        thread::spawn(move || drop(stdin.write_all(&bytes)));
        Ok(running)
    }

    /// Starts the program with a standard input that stays open until it is dropped.
    pub(crate) fn start_open(mut self) -> Result<(Running, ChildStdin), Failed> {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn()?;
        let stdin = child.stdin.take();
        let stdin = stdin.ok_or_else(|| Failed::from("it has no standard input"))?;
        let (sender, lines) = sync_channel(LINES_AHEAD);
        let stdout = collect(child.stdout.take(), move |line| drop(sender.try_send(line)));
        let stderr = collect(child.stderr.take(), drop);
        let running = Running {
            child,
            lines,
            stdout,
            stderr,
            patience: self.patience,
        };
        Ok((running, stdin))
    }
}

/// Reads a pipe to its end in a thread and passes each line to `each`.
fn collect(
    pipe: Option<impl Read + Send + 'static>,
    mut each: impl FnMut(String) + Send + 'static,
) -> Collected {
    let text = Arc::new(Mutex::new(String::new()));
    let (done, ended) = sync_channel(1);
    let all = Arc::clone(&text);
    thread::spawn(move || {
        let Some(pipe) = pipe else { return };
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader
            .read_until(b'\n', &mut line)
            .is_ok_and(|count| count > 0)
        {
            let text = String::from_utf8_lossy(&line).into_owned();
            all.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push_str(&text);
            each(text);
            line.clear();
        }
        let _ = done.send(());
    });
    Collected { text, ended }
}

impl Collected {
    /// Returns the text. A process that outlives the program and keeps the pipe open delays this
    /// for [`PIPE_PATIENCE`] at most.
    fn finish(&self) -> String {
        let _ = self.ended.recv_timeout(PIPE_PATIENCE);
        self.text
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Running {
    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of standard output that fits, and returns it; the lines before it are
    /// consumed.
    pub(crate) fn line(&self, fits: impl Fn(&str) -> bool) -> Result<String, Failed> {
        let deadline = Instant::now() + self.patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if fits(&line) => return Ok(line),
                Ok(_) => {}
                Err(error) => return Err(Failed::from(format!("waited for a line: {error}"))),
            }
        }
    }

    /// Waits until standard error contains a text.
    pub(crate) fn says(&self, words: &str) -> Result<(), Failed> {
        until(self.patience, || {
            let said = self
                .stderr
                .text
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Ok(said.contains(words).then_some(()))
        })
    }

    /// Reports whether it has ended.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Failed> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Failed> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failed::from("no such process id"))?;
        kill_process(pid, signal).map_err(Failed::from)
    }

    /// Waits for the program's end. Kills the program and fails if it takes too long.
    pub(crate) fn end(mut self) -> Result<Ran, Failed> {
        let patience = self.patience;
        let status = until(patience, || Ok(self.child.try_wait()?));
        if status.is_err() {
            let _ = self.child.kill();
        }
        let [stdout, stderr] = [self.stdout.finish(), self.stderr.finish()];
        match status {
            Ok(status) => Ok(Ran {
                code: code_of(status),
                stdout,
                stderr,
            }),
            Err(_) => Err(Failed::from(format!(
                "no end after {patience:?}\n{stdout}\n{stderr}"
            ))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn code_of(status: ExitStatus) -> i32 {
    let by_signal = || status.signal().map_or(-1, |signal| 128 + signal);
    status.code().unwrap_or_else(by_signal)
}

impl Ran {
    /// Fails with everything that was printed unless the exit code is this one.
    pub(crate) fn exits(self, code: i32) -> Result<Self, Failed> {
        if self.code == code {
            return Ok(self);
        }
        let Self {
            code: actual,
            stdout,
            stderr,
        } = self;
        Err(Failed::from(format!(
            "exit code {actual} instead of {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        )))
    }

    /// Parses standard output as one JSON value.
    pub(crate) fn json(&self) -> Result<Value, Failed> {
        serde_json::from_str(&self.stdout)
            .map_err(|error| Failed::from(format!("{error} in {:?}", self.stdout)))
    }
}

/// Requires that a text contains all of these words.
pub(crate) fn require_words(text: &str, words: &[&str]) -> Result<(), Failed> {
    match words.iter().find(|word| !text.contains(**word)) {
        Some(missing) => Err(Failed::from(format!("no {missing:?} in\n{text}"))),
        None => Ok(()),
    }
}

/// Requires that a program printed all of these words, to either of its outputs.
pub(crate) fn says(ran: &Ran, words: &[&str]) -> Result<(), Failed> {
    require_words(&format!("{}{}", ran.stdout, ran.stderr), words)
}

/// Polls until `look` returns a value; fails after `patience`. Tests poll with this function only.
pub(crate) fn until<T>(
    patience: Duration,
    mut look: impl FnMut() -> Result<Option<T>, Failed>,
) -> Result<T, Failed> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        assert!(Instant::now() < deadline, "nothing after {patience:?}");
        thread::park_timeout(LOOK_AGAIN);
    }
}

/// Prefixes of the variables that cargo sets for this test. A cargo that sees other values of them
/// rebuilds libraries, and so does the next cargo outside the test.
const OF_THIS_TEST: [&str; 3] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_"];

/// Prepares to start cargo on this workspace, with the environment that it has in a terminal.
pub(crate) fn workspace_cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    for (name, _) in std::env::vars_os() {
        if OF_THIS_TEST
            .iter()
            .any(|prefix| name.to_string_lossy().starts_with(prefix))
        {
            cargo.env_remove(name);
        }
    }
    cargo
}
