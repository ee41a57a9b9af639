//! The only other door: the git program, run unconfined with a clean environment.
//!
//! For `crates/git/src/program.rs` alone; everything that an agent causes goes through [`crate::Sandbox`].

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::capture::Capture;
use crate::drive::wait_readable;
use crate::error::SandboxError;
use crate::full::memory_file;
use crate::{spawner, sys};

/// A trusted program should never need longer; fetches and pushes of large repositories set their own.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// More than any listing or object that the coordinator reads; both streams are held in memory.
const MOST_OUTPUT: usize = 256 << 20;

/// Builds one run of a trusted program with an empty environment.
#[derive(Debug, Clone)]
pub struct Trusted {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    stdin: Vec<u8>,
    timeout: Duration,
    outlives: Option<Arc<OwnedFd>>,
}

/// Tells what a trusted program did.
#[derive(Debug, Clone)]
pub struct TrustedOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

/// Begins a run of the trusted program at this absolute path.
#[must_use]
pub fn trusted(program: &Path) -> Trusted {
    Trusted {
        program: program.to_owned(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: None,
        stdin: Vec::new(),
        timeout: DEFAULT_TIMEOUT,
        outlives: None,
    }
}

impl Trusted {
    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets one variable of the otherwise empty environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn current_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cwd = Some(dir.into());
        self
    }

    /// Sets what the program reads; nothing by default.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets the wall time after which the program's process group is killed.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Lets the program go on to its end if this process is killed; `lock` stays open in it until then.
    ///
    /// For what must not stop half-way. Whoever comes next waits for the lock.
    #[must_use]
    pub fn outlives_us(mut self, lock: Arc<OwnedFd>) -> Self {
        self.outlives = Some(lock);
        self
    }

    /// Runs the program to its end and returns everything it wrote.
    ///
    /// # Errors
    /// If it could not be started, ran too long or wrote too much; never because of its exit status.
    pub fn output(&self) -> Result<TrustedOutput, SandboxError> {
        let lock = self.outlives.as_ref().map(|lock| lock.try_clone()).transpose();
        let lock = lock.map_err(SandboxError::io("hand a lock to a trusted program"))?;
        let mut child = spawner::spawn(self.command()?, lock.into_iter().collect())?;
        let stdout = Capture::new(child.stdout.take().map(OwnedFd::from), MOST_OUTPUT)?;
        let stderr = Capture::new(child.stderr.take().map(OwnedFd::from), MOST_OUTPUT)?;
        let read = self.read([stdout, stderr]);
        if read.is_err() {
            kill_group(&child);
        }
        let status = child.wait().map_err(SandboxError::io("wait for a trusted program"))?;
        let [stdout, stderr] = read?;
        Ok(TrustedOutput { status, stdout, stderr })
    }

    #[expect(clippy::disallowed_methods, reason = "the one door for the git program")]
    fn command(&self) -> Result<Command, SandboxError> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if self.stdin.is_empty() { Stdio::null() } else { memory_file("stdin", &self.stdin)?.into() });
        if let Some(dir) = &self.cwd {
            command.current_dir(dir);
        }
        if self.outlives.is_none() {
            sys::die_with_spawner(&mut command);
        }
        Ok(command)
    }

    /// Reads until the program closes its outputs; what it leaves running must not hold them.
    fn read(&self, mut streams: [Capture; 2]) -> Result<[Vec<u8>; 2], SandboxError> {
        let until = Instant::now() + self.timeout;
        loop {
            let open: Vec<BorrowedFd<'_>> = streams.iter().filter_map(Capture::pipe).map(AsFd::as_fd).collect();
            let left = until.saturating_duration_since(Instant::now());
            if open.is_empty() {
                return Ok(streams.map(|stream| stream.finish().bytes()));
            }
            if left.is_zero() {
                let seconds = self.timeout.as_secs();
                return Err(SandboxError::TrustedTimeout { program: self.program.clone(), seconds });
            }
            wait_readable(&open, left)?;
            streams.iter_mut().for_each(Capture::read_some);
            if streams.iter().any(|stream| stream.total() > MOST_OUTPUT as u64) {
                return Err(SandboxError::TrustedOutput { program: self.program.clone(), limit: MOST_OUTPUT });
            }
        }
    }
}

fn kill_group(child: &Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        // It may have ended in between.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Trusted {
        trusted(Path::new("/bin/sh")).args(["-c", script])
    }

    #[test]
    fn passes_input_and_collects_output() {
        let input = vec![b'x'; 1 << 20];
        let output = sh("cat; echo $A >&2; exit 3").env("A", "b").stdin(input.clone()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(3), input, b"b\n".to_vec()));
    }

    #[test]
    fn inherits_no_environment() {
        let output = trusted(Path::new("/usr/bin/env")).env("A", "b").output().unwrap();
        assert_eq!(output.stdout, b"A=b\n");
    }

    #[test]
    fn kills_what_takes_too_long() {
        let result = sh("sleep 60 & sleep 60").timeout(Duration::from_millis(100)).output();
        assert!(matches!(result, Err(SandboxError::TrustedTimeout { .. })), "{result:?}");
    }

    #[test]
    fn outlives_the_thread_that_asked_for_it() {
        let child = std::thread::spawn(|| sh("sleep 0.2; echo alive").output().unwrap()).join().unwrap();
        assert_eq!(child.stdout, b"alive\n");
    }
}
