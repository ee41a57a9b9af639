//! The errors of this crate: why a process could not be run as asked.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why a process could not be run as asked. A program that ran and failed is no error: see
/// [`crate::Exit`].
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No tier works here; each reason ends with its fix.
    #[error("find a working sandbox (full: {full}; fallback: {fallback})")]
    NoTier {
        /// Why the full tier does not work.
        full: String,
        /// Why the fallback tier does not work.
        fallback: String,
    },
    /// The requested tier does not work here.
    #[error("start the {tier} sandbox: {reason}")]
    TierUnusable {
        /// The requested tier.
        tier: crate::Confinement,
        /// Why it does not work, and the fix.
        reason: String,
    },
    /// The program is its own helper, but its `main` does not begin with
    /// `run_helper_if_asked`.
    #[error(
        "use this program as the sandbox helper: the first line of its main must be \
         `run_helper_if_asked()`, or another helper must be named"
    )]
    HelperNotInstalled,
    /// The helper program cannot be opened.
    #[error("open the sandbox helper {path}: {source}")]
    Helper {
        /// The helper's path.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// This tier cannot lead a program to a proxy alone.
    #[error("give a program the network in the {tier} sandbox: {reason}")]
    NoEgress {
        /// The tier.
        tier: crate::Confinement,
        /// Why not, and what does not start here that could.
        reason: String,
    },
    /// The program is not in the view or not in the job's `PATH`.
    #[error("find the program {program:?} inside the sandbox")]
    ProgramNotFound {
        /// The program as the job named it.
        program: OsString,
    },
    /// The kernel refused to execute the program.
    #[error("execute {program:?} inside the sandbox: {detail}")]
    NotExecutable {
        /// The program as the job named it.
        program: OsString,
        /// The kernel's reason.
        detail: String,
    },
    /// The working directory is not below a root of the view.
    #[error("enter {path}: the working directory must be inside the sandbox's view")]
    CwdOutside {
        /// The job's working directory.
        path: PathBuf,
    },
    /// A root or mask of the view is missing, relative, or of the wrong kind.
    #[error("show {path} in the sandbox: {reason}")]
    View {
        /// The path as given in the view.
        path: PathBuf,
        /// Why it cannot be shown.
        reason: String,
    },
    /// A step of the setup failed before the program started.
    #[error("set up the sandbox: {detail}")]
    Setup {
        /// The step and its error.
        detail: String,
    },
    /// A system call of the coordinator failed.
    #[error("{action}: {source}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The I/O error.
        source: io::Error,
    },
    /// A trusted program ran longer than allowed.
    #[error("run {program} within {seconds} s")]
    TrustedTimeout {
        /// The path of the program.
        program: PathBuf,
        /// Its time limit, in seconds.
        seconds: u64,
    },
    /// A trusted program was killed on request, or not started for that reason.
    #[error("complete {program}: it was killed on request")]
    TrustedKilled {
        /// The path of the program.
        program: PathBuf,
    },
    /// A trusted program wrote more than allowed.
    #[error("read the output of {program}: more than {limit} bytes")]
    TrustedOutput {
        /// The path of the program.
        program: PathBuf,
        /// The maximum size of each output stream, in bytes.
        limit: usize,
    },
}

impl SandboxError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    pub(crate) fn errno(action: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::Io {
            action,
            source: errno.into(),
        }
    }
}
