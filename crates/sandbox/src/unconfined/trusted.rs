//! The second way to start a process: runs the git program unconfined, with a clean environment.
//!
//! Used by `crates/git/src/program/run.rs` alone, which also starts the program that opens a pull
//! request if the user asks for one; everything that an agent causes goes through
//! [`crate::Sandbox`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions};

use crate::cancel::Cancel;
use crate::descriptors::pipe;
use crate::environment::host::trusted_search_path;
use crate::error::SandboxError;
use crate::run::capture::Capture;
use crate::run::drive::{LONGEST_SLEEP, wait_readable};
use crate::{spawner, sys};

/// No trusted program should need longer; fetches and pushes of large repositories set their own.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// The maximum size of each output stream, in bytes: more than any listing or object that the
/// coordinator reads. Both streams are held in memory.
const MOST_OUTPUT: usize = 256 << 20;

/// A builder for one run of a trusted program, with an empty environment.
#[derive(Debug, Clone)]
pub struct Trusted {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    timeout: Duration,
    killed_by: Option<Cancel>,
    outlives: Vec<Arc<OwnedFd>>,
    file_bytes: Option<u64>,
}

/// The result of a trusted program.
#[derive(Debug, Clone)]
pub struct TrustedOutput {
    /// How the program ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

/// Returns a builder for a run of the trusted program at this absolute path.
#[must_use]
pub fn trusted(program: &Path) -> Trusted {
    Trusted {
        program: program.to_owned(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: None,
        timeout: DEFAULT_TIMEOUT,
        killed_by: None,
        outlives: Vec::new(),
        file_bytes: None,
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
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets one variable of the otherwise empty environment; folders that
    /// [`crate::trusted_program`] skips are removed from a `PATH`.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let (name, value) = (name.as_ref(), value.as_ref());
        let value = if name == "PATH" {
            trusted_search_path(value)
        } else {
            value.to_owned()
        };
        self.env.push((name.to_owned(), value));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn current_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cwd = Some(dir.into());
        self
    }

    /// Sets the wall time after which the program's process group is killed.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the size at which a file that the program, or one that it starts, writes ends it.
    #[must_use]
    pub fn file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = Some(bytes);
        self
    }

    /// Kills the program's process group, or keeps it from starting, once `cancel` is killed. A
    /// mere request to end does not affect the program.
    #[must_use]
    pub fn killed_by(mut self, cancel: &Cancel) -> Self {
        self.killed_by = Some(cancel.clone());
        self
    }

    /// Lets the program run to its end even if this process is killed. `lock` stays open in it
    /// until then, besides those of earlier calls.
    ///
    /// For programs that must not stop half-way; the next process waits for the lock.
    #[must_use]
    pub fn outlives_us(mut self, lock: Arc<OwnedFd>) -> Self {
        self.outlives.push(lock);
        self
    }

    /// Runs the program to its end and returns everything it wrote.
    ///
    /// # Errors
    /// Fails if the program could not be started, ran too long, wrote too much or was killed on
    /// request; never because of its exit status.
    pub fn output(&self) -> Result<TrustedOutput, SandboxError> {
        self.require_wanted()?;
        let mut locks = Vec::new();
        for lock in &self.outlives {
            let lock = lock.try_clone();
            locks.push(lock.map_err(SandboxError::io("hand a lock to a trusted program"))?);
        }
        let (stdout, to_stdout) = pipe()?;
        let (stderr, to_stderr) = pipe()?;
        let program = self
            .program(to_stdout, to_stderr)
            .map_err(SandboxError::io("start a process"))?;
        let streams = [
            Capture::new(Some(stdout), MOST_OUTPUT)?,
            Capture::new(Some(stderr), MOST_OUTPUT)?,
        ];
        let child = spawner::spawn(locks, move || sys::start(&program))?;
        let read = self.read(streams);
        if read.is_err() {
            // It may have ended in the meantime.
            let _ = rustix::process::kill_process_group(child, Signal::KILL);
        }
        let ended = rustix::io::retry_on_intr(|| {
            rustix::process::waitpid(Some(child), WaitOptions::empty())
        });
        let ended = ended.map_err(SandboxError::errno("wait for a trusted program"))?;
        let status = ExitStatus::from_raw(ended.map_or(0, |(_, status)| status.as_raw()));
        let [stdout, stderr] = read?;
        Ok(TrustedOutput {
            status,
            stdout,
            stderr,
        })
    }

    /// Returns the program to start, which writes to these pipes.
    fn program(&self, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<sys::Program> {
        let own_name = self.program.as_os_str();
        let arguments = self.args.iter().map(OsString::as_os_str);
        Ok(sys::Program {
            path: sys::c_string(own_name)?,
            arguments: sys::c_strings([own_name].into_iter().chain(arguments))?,
            environment: sys::c_environment(&self.env)?,
            directory: self.cwd.as_ref().map(sys::c_string).transpose()?,
            streams: [File::open("/dev/null")?.into(), stdout, stderr],
            own_group: true,
            dies_with: self.outlives.is_empty().then(rustix::process::getpid),
            file_bytes: self.file_bytes,
            is_private: false,
        })
    }

    /// Fails if the program is to be killed, also before it starts.
    fn require_wanted(&self) -> Result<(), SandboxError> {
        if self.killed_by.as_ref().is_some_and(Cancel::is_killed) {
            return Err(SandboxError::TrustedKilled {
                program: self.program.clone(),
            });
        }
        Ok(())
    }

    /// Reads until the program closes its outputs; processes that it leaves running must not hold
    /// them.
    fn read(&self, mut streams: [Capture; 2]) -> Result<[Vec<u8>; 2], SandboxError> {
        let until = Instant::now() + self.timeout;
        let killed = self.killed_by.as_ref().and_then(Cancel::kill_event);
        loop {
            let open: Vec<BorrowedFd<'_>> = streams
                .iter()
                .filter_map(Capture::pipe)
                .map(AsFd::as_fd)
                .collect();
            let left = until.saturating_duration_since(Instant::now());
            if open.is_empty() {
                return Ok(streams.map(|stream| stream.finish().bytes()));
            }
            if left.is_zero() {
                let seconds = self.timeout.as_secs();
                return Err(SandboxError::TrustedTimeout {
                    program: self.program.clone(),
                    seconds,
                });
            }
            self.require_wanted()?;
            let watched: Vec<BorrowedFd<'_>> = open.into_iter().chain(killed).collect();
            wait_readable(&watched, left.min(LONGEST_SLEEP))?;
            streams.iter_mut().for_each(Capture::read_some);
            if streams
                .iter()
                .any(|stream| stream.total() > MOST_OUTPUT as u64)
            {
                return Err(SandboxError::TrustedOutput {
                    program: self.program.clone(),
                    limit: MOST_OUTPUT,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode};

    use super::*;

    fn sh(script: &str) -> Trusted {
        trusted(Path::new("/bin/sh")).args(["-c", script])
    }

    #[test]
    fn collects_output_and_gives_no_input() {
        let zeros = vec![0; 1 << 20];
        let output = sh("cat; head -c 1048576 /dev/zero; echo $A >&2; exit 3")
            .env("A", "b")
            .output()
            .unwrap();
        assert_eq!(
            (output.status.code(), output.stdout, output.stderr),
            (Some(3), zeros, b"b\n".to_vec())
        );
    }

    #[test]
    fn inherits_no_environment() {
        let output = trusted(Path::new("/usr/bin/env"))
            .env("A", "b")
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"A=b\n");
    }

    #[test]
    fn ends_what_writes_too_large_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let written = folder.path().join("written");
        let output = sh("head -c 5000 /dev/zero > \"$0\"; kill -l $?")
            .args([&written])
            .file_bytes(4096)
            .output()
            .unwrap();
        assert_eq!(
            (output.stdout, written.metadata().unwrap().len()),
            (b"XFSZ\n".to_vec(), 4096)
        );
    }

    #[test]
    fn kills_what_takes_too_long() {
        let result = sh("sleep 9999 & sleep 9999")
            .timeout(Duration::from_millis(1))
            .output();
        assert!(
            matches!(result, Err(SandboxError::TrustedTimeout { .. })),
            "{result:?}"
        );
    }

    #[test]
    fn only_what_is_killed_ends_before_it_has_ended_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (begun, never) = (folder.path().join("begun"), folder.path().join("never"));
        for pipe in [&begun, &never] {
            rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RWXU).unwrap();
        }
        let cancel = Cancel::new();
        // A request to end does not affect it.
        cancel.cancel();
        let waits = sh("echo > \"$0\"; read word < \"$1\"")
            .args([&begun, &never])
            .killed_by(&cancel);
        let ended = std::thread::scope(|scope| {
            let running = scope.spawn(|| waits.output());
            std::fs::read(&begun).unwrap();
            cancel.kill();
            running.join().unwrap()
        });
        assert!(
            matches!(ended, Err(SandboxError::TrustedKilled { .. })),
            "{ended:?}"
        );
        // A program that would start now does not.
        let made = folder.path().join("made");
        let later = sh(": > \"$0\"").args([&made]).killed_by(&cancel).output();
        assert!(
            matches!(later, Err(SandboxError::TrustedKilled { .. })) && !made.exists(),
            "{later:?}"
        );
    }

    #[test]
    fn outlives_the_thread_that_asked_for_it() {
        let place = tempfile::tempdir().unwrap();
        let gates = ["begun", "go"].map(|name| place.path().join(name));
        gates.iter().for_each(|gate| {
            rustix::fs::mknodat(CWD, gate, FileType::Fifo, Mode::RWXU, 0).unwrap()
        });
        let script = sh("echo > begun; read line < go; echo alive").current_dir(place.path());
        let asking = std::thread::spawn(move || script.output().unwrap());
        std::fs::read(&gates[0]).unwrap();
        // The thread that starts processes has started another one by now.
        sh("true").output().unwrap();
        std::fs::write(&gates[1], "\n").unwrap();
        assert_eq!(asking.join().unwrap().stdout, b"alive\n");
    }
}
