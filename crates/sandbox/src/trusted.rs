//! The only other door: the git program, run unconfined with a clean environment.
//!
//! For `crates/git/src/program.rs` alone; everything that an agent causes goes through [`crate::Sandbox`].

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::error::SandboxError;

/// A trusted program should never need longer; fetches and pushes of large repositories set their own.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Builds one run of a trusted program with an empty environment.
#[derive(Debug, Clone)]
pub struct Trusted {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    stdin: Vec<u8>,
    timeout: Duration,
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

    /// Runs the program to its end and returns everything it wrote.
    ///
    /// # Errors
    /// If it could not be started, ran too long or wrote too much; never because of its exit status.
    pub fn output(&self) -> Result<TrustedOutput, SandboxError> {
        Err(SandboxError::Setup {
            detail: "not built yet".to_owned(),
        })
    }
}
