//! Why a project's command could not be run. A check that fails is a result, not an error.

use std::path::PathBuf;

use orchestrate_git::GitError;
use orchestrate_sandbox::SandboxError;

/// Why a project's command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ChecksError {
    /// A git operation failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The repository's git directory has become read-only, which concerns all tasks alike.
    #[error("{source}; the repository is read-only")]
    ReadOnlyRepository {
        /// What could not be written.
        source: Box<GitError>,
    },
    /// No process can be confined, or none can be started.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A folder or a file cannot be used.
    #[error("use {path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A thread panicked.
    #[error("finish {what}: its thread panicked")]
    Panicked {
        /// What the thread was to do, which completes "finish …".
        what: &'static str,
    },
}
