//! Why a process could not be run as asked.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Says why a process could not be run as asked. A program that ran and failed is no error: see [`crate::Exit`].
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No tier works here; each reason ends with its fix.
    #[error("find a working sandbox (full: {full}; fallback: {fallback})")]
    NoTier {
        /// Why not the full tier.
        full: String,
        /// Why not the fallback tier.
        fallback: String,
    },
    /// The tier that was asked for does not work here.
    #[error("start the {tier} sandbox: {reason}")]
    TierUnusable {
        /// The tier.
        tier: crate::Confinement,
        /// Why not, and the fix.
        reason: String,
    },
    /// The program would re-execute itself, but does not answer as the helper.
    #[error(
        "use this program as the sandbox helper: the first line of its main must be `run_helper_if_asked()`, \
         or another helper must be named"
    )]
    HelperNotInstalled,
    /// The helper program cannot be opened.
    #[error("open the sandbox helper {path}: {source}")]
    Helper {
        /// The helper's path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
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
        /// The working directory.
        path: PathBuf,
    },
    /// A root or mask of the view is missing, relative, or of the wrong kind.
    #[error("show {path} in the sandbox: {reason}")]
    View {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A step of the sandbox failed before the program started.
    #[error("set up the sandbox: {detail}")]
    Setup {
        /// Which step, and how.
        detail: String,
    },
    /// A system call of the coordinator's side failed.
    #[error("{action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// A trusted program ran longer than allowed.
    #[error("run {program} within {seconds} s")]
    TrustedTimeout {
        /// The program.
        program: PathBuf,
        /// The time it had.
        seconds: u64,
    },
    /// A trusted program was killed because whoever it ran for is killed.
    #[error("complete {program}: it was killed on request")]
    TrustedKilled {
        /// The program.
        program: PathBuf,
    },
    /// A trusted program wrote more than allowed.
    #[error("read the output of {program}: more than {limit} bytes")]
    TrustedOutput {
        /// The program.
        program: PathBuf,
        /// The most that is held.
        limit: usize,
    },
}

impl SandboxError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    pub(crate) fn errno(action: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::Io { action, source: errno.into() }
    }
}
