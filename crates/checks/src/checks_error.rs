//! Why a project's command could not be run, and how work on files is done beside the work that
//! waits. A check that fails is a result, not an error.

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
    /// The tier that the user demands cannot be started.
    #[error("keep to the tier that {by} demands: {source}")]
    DemandedTier {
        /// What demands it.
        by: String,
        /// Why it does not start, and the fix.
        source: SandboxError,
    },
    /// The library user's program does not start the helper.
    #[error(
        "start the sandbox's helper: call orchestrate_coordinator::run_helper_if_asked() as the \
         first line of main, or name a program in Settings::helper"
    )]
    NoHelper,
    /// Another user owns, or could replace, the state folder.
    #[error("store runs in {path}: {reason}")]
    StateFolder {
        /// The folder, as the environment or the program sets it.
        path: PathBuf,
        /// What is wrong with its owner or its permissions.
        reason: String,
    },
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

impl ChecksError {
    /// Returns what makes an error of one of the file system.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl Fn(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            path: path.clone(),
            source,
        }
    }
}

/// Runs a function with errors of its own on a blocking thread, to its end.
///
/// # Errors
/// The function's, and [`ChecksError::Panicked`].
pub async fn blocking<T: Send + 'static, E: From<ChecksError> + Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(ChecksError::Panicked { what }.into()))
}
