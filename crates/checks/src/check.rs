//! Commands that are not an agent's: `verify`, `run:` and a worktree's setup, all sandboxed.
//!
//! Each is `/bin/sh -c` in a worktree, in the sandbox; exit 0 passes. None has a network, except a
//! setup that the user has allowed to use it ([`crate::setup_hosts`]).

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use orchestrate_core::event::{Event, VerifyScope};
use orchestrate_core::policy::setup_hosts::SetupHosts;
use orchestrate_core::{
    BlobId, Oid, Redactor, RunSettings, TaskId, lies_in_checkout, missing_program,
};
use orchestrate_sandbox::{
    Cancel, Exit, Finished, Job, Limits, Network, Sandbox, SandboxError, Seen, Usage,
};
use orchestrate_web::WebClient;

use crate::checks_error::ChecksError;
use crate::running_checks::RunningChecks;
use crate::setup_network::run_led;
use crate::shutdown::Shutdown;

/// How much of a check's output is kept, head and tail: enough for the failures of a test suite.
const KEPT_OUTPUT_BYTES: usize = 64 * 1024;

/// The exit code of a shell that does not find a program (POSIX, Shell Command Language, 2.8.2).
const NOT_FOUND: i32 = 127;
/// The folders in which package managers put a project's programs, each with its top folder.
const PROGRAM_FOLDERS: [(&str, &str); 4] = [
    ("node_modules", "node_modules/.bin"),
    (".venv", ".venv/bin"),
    ("venv", "venv/bin"),
    ("vendor", "vendor/bin"),
];

/// The result of a command.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// Whether it passed.
    pub passed: bool,
    /// `exit code 1`, `killed: time limit of 600 s, …`.
    pub exit: String,
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// What it has written, to standard output first.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// What its processes used, if that was measured.
    pub usage: Option<Usage>,
    /// Whether it exceeded its time limit.
    pub timed_out: bool,
    /// Whether it was interrupted by a stop, so that its result means nothing.
    pub cancelled: bool,
}

/// A shell command, and what it reaches of the network.
#[derive(Clone, Copy, Debug)]
pub struct ShellCommand<'a> {
    /// The command.
    pub text: &'a str,
    /// What it reaches.
    pub network: Network,
}

/// A command and where it runs.
pub struct Check<'a> {
    /// The command.
    pub command: ShellCommand<'a>,
    /// The worktree, as the command sees it.
    pub worktree: &'a Seen,
    /// Its time limit in milliseconds.
    pub timeout_ms: u64,
}

/// A verification, as named in its events.
pub struct Verification {
    /// The task.
    pub task: TaskId,
    /// What is verified.
    pub scope: VerifyScope,
    /// The tree.
    pub tree: Oid,
    /// The command.
    pub command: String,
}

impl Verification {
    /// Returns the event of its start.
    pub fn started(&self) -> Event {
        let Self {
            task,
            scope,
            tree,
            command,
        } = self;
        Event::VerifyStarted {
            task: task.clone(),
            scope: *scope,
            tree: tree.clone(),
            command: command.clone(),
        }
    }

    /// Returns the event of its result, whose output is in the blob.
    pub fn finished(self, result: &CheckResult, output: BlobId) -> Event {
        let Self {
            task,
            scope,
            tree,
            command,
        } = self;
        let (passed, exit, duration_ms) = (result.passed, result.exit.clone(), result.duration_ms);
        Event::VerifyFinished {
            task,
            scope,
            tree,
            command,
            passed,
            exit,
            output,
            duration_ms,
        }
    }
}

/// Runs a command in the sandbox, as one of those that run now; interrupted when the level reaches
/// `Stop`.
///
/// # Errors
/// If the sandbox cannot start it.
pub async fn run_check(
    sandbox: &Sandbox,
    running: &RunningChecks,
    check: Check<'_>,
    shutdown: &Shutdown,
) -> Result<CheckResult, ChecksError> {
    let cancel = Cancel::new();
    let timeout_ms = check.timeout_ms;
    let shown = running.add(check.command.text);
    let sandbox = sandbox.clone().showing(shown.output.clone());
    let ended = shutdown.guard(&cancel, sandbox.run_async(check.job(), cancel.clone()));
    let finished = running.noting(shown, ended).await?;
    Ok(CheckResult::from_finished(&finished, timeout_ms))
}

/// Runs a setup with the network in the sandbox; interrupted when the level reaches `Stop`.
pub(crate) async fn run_setup(
    sandbox: &Sandbox,
    web: &WebClient,
    hosts: SetupHosts,
    check: Check<'_>,
    shutdown: &Shutdown,
) -> Result<CheckResult, ChecksError> {
    let cancel = Cancel::new();
    let running = run_led(sandbox, web, hosts, check.job(), &cancel);
    let (finished, notes) = shutdown.guard(&cancel, running).await?;
    Ok(CheckResult::from_finished(&finished, check.timeout_ms).with_notes(&notes))
}

/// Does the same on this thread alone.
pub(crate) fn run_setup_blocking(
    sandbox: &Sandbox,
    hosts: SetupHosts,
    check: &Check<'_>,
    cancel: &Cancel,
) -> Result<CheckResult, ChecksError> {
    let (job, web) = (check.job(), WebClient::default());
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| SandboxError::Setup {
            detail: format!("start a runtime: {error}"),
        })?;
        runtime.block_on(run_led(sandbox, &web, hosts, job, cancel))
    };
    // On a thread of its own, since this one may be of a runtime.
    let ended = std::thread::scope(|scope| scope.spawn(run).join());
    let (finished, notes) = ended.map_err(|_| ChecksError::Panicked { what: "the setup" })??;
    Ok(CheckResult::from_finished(&finished, check.timeout_ms).with_notes(&notes))
}

/// Runs a command in the sandbox, blocking the thread.
///
/// # Errors
/// If the sandbox cannot start it.
pub fn run_check_blocking(
    sandbox: &Sandbox,
    check: &Check<'_>,
    cancel: &Cancel,
) -> Result<CheckResult, ChecksError> {
    Ok(CheckResult::from_finished(
        &sandbox.run(&check.job(), cancel)?,
        check.timeout_ms,
    ))
}

impl<'a> ShellCommand<'a> {
    /// Returns a command without a network.
    pub fn offline(text: &'a str) -> Self {
        Self {
            text,
            network: Network::None,
        }
    }

    /// Returns the command that prepares a worktree, if there is one.
    pub(crate) fn setup(settings: &'a RunSettings) -> Option<Self> {
        let network = if settings.setup_network {
            Network::Proxy
        } else {
            Network::None
        };
        settings
            .worktree_setup
            .as_deref()
            .map(|text| Self { text, network })
    }
}

impl Check<'_> {
    fn job(&self) -> Job {
        Job {
            view: self.worktree.view.clone(),
            program: "/bin/sh".into(),
            args: vec![OsString::from("-c"), OsString::from(self.command.text)],
            cwd: self.worktree.path.clone(),
            stdin: Vec::new(),
            env: Default::default(),
            // The proxy's job is made from this one.
            network: Network::None,
            limits: Limits {
                timeout: Duration::from_millis(self.timeout_ms),
                kept_output_bytes: KEPT_OUTPUT_BYTES,
                ..Limits::default()
            },
        }
    }
}

/// Returns the folder of the checkout that holds a program, by its name or its path.
pub fn place_of<'a>(checkout: &Path, program: &'a str) -> Option<&'a str> {
    if program.contains('/') {
        let path = program.trim_start_matches("./");
        let top = path.split('/').next().filter(|top| !top.is_empty())?;
        return checkout.join(path).is_file().then_some(top);
    }
    let place = PROGRAM_FOLDERS
        .iter()
        .find(|(_, bin)| checkout.join(bin).join(program).is_file());
    place.map(|(folder, _)| *folder)
}

/// Describes how a command ended, including the meaning of the shell's own two exit codes and the
/// settings that define its limits.
fn explained(exit: &Exit, timeout_ms: u64) -> String {
    match exit {
        Exit::TimedOut => format!(
            "{exit} of {} s, set by the task's `timeout` or the setting `command_timeout`",
            Duration::from_millis(timeout_ms).as_secs_f64()
        ),
        Exit::MemoryLimit => format!("{exit}, set by `command_memory_mib`"),
        Exit::DiskLimit => format!("{exit}, set by `worktree_mib`"),
        Exit::FilesLimit => format!("{exit}, a limit set by `worktree_files`"),
        Exit::Code(126) => format!("{exit}: a command cannot be executed"),
        Exit::Code(NOT_FOUND) => format!("{exit}: a command was not found"),
        _ => exit.to_string(),
    }
}

impl CheckResult {
    /// Returns the result of a command that was interrupted before it started.
    pub(crate) fn interrupted() -> Self {
        Self {
            passed: false,
            exit: Exit::Cancelled.to_string(),
            code: None,
            output: String::new(),
            duration_ms: 0,
            usage: None,
            timed_out: false,
            cancelled: true,
        }
    }

    /// Adds a line to the output.
    pub fn with_line(mut self, line: &str) -> Self {
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            self.output.push('\n');
        }
        self.output.push_str(line);
        self
    }

    /// Adds a line if a program that the command did not find lies in an ignored folder of the
    /// user's checkout.
    pub fn explaining_missing(self, checkout: &Path) -> Self {
        let missing = if self.code == Some(NOT_FOUND) {
            missing_program(&self.output)
        } else {
            None
        };
        let line = missing
            .and_then(|program| Some(lies_in_checkout(program, place_of(checkout, program)?)));
        match line {
            Some(line) => self.with_line(&line),
            None => self,
        }
    }

    /// Adds what a setup could not reach to the output of one that has failed.
    fn with_notes(self, notes: &[String]) -> Self {
        if self.passed {
            return self;
        }
        notes
            .iter()
            .fold(self, |result, note| result.with_line(note))
    }

    /// Redacts the run's secrets in its output.
    pub fn redacted(self, redactor: &Redactor) -> Self {
        Self {
            output: redactor.owned(self.output),
            ..self
        }
    }

    fn from_finished(finished: &Finished, timeout_ms: u64) -> Self {
        let mut output = finished.stdout.text();
        let errors = finished.stderr.text();
        if !output.is_empty() && !output.ends_with('\n') && !errors.is_empty() {
            output.push('\n');
        }
        output.push_str(&errors);
        Self {
            passed: finished.exit.success(),
            exit: explained(&finished.exit, timeout_ms),
            code: match finished.exit {
                Exit::Code(code) => Some(code),
                _ => None,
            },
            output,
            duration_ms: u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
            usage: finished.usage,
            timed_out: finished.exit == Exit::TimedOut,
            cancelled: finished.exit == Exit::Cancelled,
        }
    }
}
