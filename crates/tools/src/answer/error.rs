//! Why a tool failed: one classification for all tools, so that every caller treats a class in the
//! same way.
//!
//! A [`ToolError`] is an answer to the model, not an error of the program: the executor turns it
//! into a [`crate::ToolOutput`]. A [`ServiceError`] of the recorder is answered in the same way;
//! ending the work, which must not continue unrecorded, is up to the recorder's implementation.

use std::time::Duration;

pub use orchestrate_core::event::ErrorKind;
use orchestrate_core::policy::failure_handling::Failure;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::SandboxError;

/// The reason of a file's error if the operating system's permissions are against it.
pub(crate) const PERMISSION_DENIED: &str = "permission denied";

/// Why a call failed, classified by the possible reaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The model can correct the call; the text says how.
    #[error("{0}")]
    Retry(String),
    /// A search exceeded its limit; the model can narrow it.
    #[error("{0}")]
    TooBroad(String),
    /// The policy or a built-in rule refused the call.
    #[error("Security validation failed: {reason}")]
    Denied {
        /// Why, and what is allowed instead.
        reason: String,
        /// The id of the refusing rule.
        rule: String,
    },
    /// A file tool met an I/O error that another path or name does not avoid, such as a full disk.
    #[error("{reason}: {path}")]
    File {
        /// The path as the model wrote it.
        path: String,
        /// The error, such as `is a directory`.
        reason: String,
    },
    /// A time limit was reached.
    #[error("timed out after {seconds} s")]
    Timeout {
        /// The limit in seconds.
        seconds: u64,
        /// The output until then.
        partial: String,
        /// What was done about it, one line each.
        notes: String,
    },
    /// A connection or name resolution failed, or the remote side did.
    #[error("{0}")]
    Network(String),
    /// The remote side is too busy, and asks to wait.
    #[error("{reason}")]
    Busy {
        /// What it said.
        reason: String,
        /// How long it asks to wait.
        wait: Duration,
    },
    /// What the tool needs could not be started, such as a sandbox; nothing ran.
    #[error("{0}")]
    Unavailable(String),
    /// A program that the tool needs is not installed; nothing ran.
    #[error("{0}")]
    Absent(String),
    /// Any other failure of the tool itself, including a panic.
    #[error("{0}")]
    Execution(String),
    /// The call was cancelled, or the process ended during it; whether it had effects is unknown.
    #[error("interrupted: {0}")]
    Interrupted(String),
}

impl ToolError {
    /// Creates the error of a time limit, with the output until then.
    pub(crate) fn timeout(seconds: u64, partial: String) -> ToolError {
        ToolError::Timeout {
            seconds,
            partial,
            notes: String::new(),
        }
    }

    /// Returns the class to record; a search that was too broad counts as an execution failure, and
    /// so does what could not be started.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ToolError::Retry(_) => ErrorKind::Retry,
            ToolError::Denied { .. } => ErrorKind::Denied,
            ToolError::File { .. } => ErrorKind::File,
            ToolError::Timeout { .. } => ErrorKind::Timeout,
            ToolError::Network(_) | ToolError::Busy { .. } => ErrorKind::Network,
            ToolError::Execution(_)
            | ToolError::TooBroad(_)
            | ToolError::Unavailable(_)
            | ToolError::Absent(_) => ErrorKind::Execution,
            ToolError::Interrupted(_) => ErrorKind::Interrupted,
        }
    }

    /// Returns the class that decides what happens next.
    pub fn failure(&self) -> Failure {
        match self {
            ToolError::Retry(_) | ToolError::TooBroad(_) => Failure::Repairable,
            ToolError::Denied { .. } => Failure::Refused,
            ToolError::File { reason, .. } if reason == PERMISSION_DENIED => Failure::Forbidden,
            ToolError::File { .. } | ToolError::Execution(_) => Failure::Broken,
            ToolError::Timeout { .. } => Failure::TimedOut,
            ToolError::Network(_) | ToolError::Busy { .. } => Failure::Network,
            ToolError::Unavailable(_) => Failure::Unavailable,
            ToolError::Absent(_) => Failure::Absent,
            ToolError::Interrupted(_) => Failure::Interrupted,
        }
    }

    /// Returns how long the remote side asks to wait, if it does.
    pub(crate) fn asked_wait(&self) -> Option<Duration> {
        if let ToolError::Busy { wait, .. } = self {
            Some(*wait)
        } else {
            None
        }
    }

    /// Returns the id of the refusing rule.
    pub fn rule(&self) -> Option<&str> {
        if let ToolError::Denied { rule, .. } = self {
            Some(rule)
        } else {
            None
        }
    }

    /// Words why a process was not started.
    pub(crate) fn not_started(error: &SandboxError) -> ToolError {
        let text = format!("failed to {error}");
        match error {
            SandboxError::ProgramNotFound { .. } => ToolError::Absent(text),
            SandboxError::NoEgress { .. } => ToolError::denied(
                "built-in:no-egress",
                format!("{text}; work with what is in the worktree and in the toolchain's caches"),
            ),
            SandboxError::NoTier { .. }
            | SandboxError::TierUnusable { .. }
            | SandboxError::Helper { .. }
            | SandboxError::Setup { .. }
            | SandboxError::Io { .. } => ToolError::Unavailable(text),
            _ => ToolError::Execution(text),
        }
    }

    /// Returns a refusal by a rule.
    pub fn denied(rule: &str, reason: impl Into<String>) -> ToolError {
        ToolError::Denied {
            reason: reason.into(),
            rule: rule.to_owned(),
        }
    }

    pub(crate) fn file(path: &str, reason: impl Into<String>) -> ToolError {
        ToolError::File {
            path: shown(path),
            reason: reason.into(),
        }
    }
}

impl From<ServiceError> for ToolError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Invalid(reason) => ToolError::Retry(reason),
            ServiceError::Denied { rule, reason } => ToolError::Denied { reason, rule },
            ServiceError::Unreachable(reason) => ToolError::Network(reason),
            ServiceError::TimedOut { seconds } => ToolError::timeout(seconds, String::new()),
            ServiceError::Interrupted(reason) => ToolError::Interrupted(reason),
            ServiceError::Absent(reason) => ToolError::Absent(reason),
            ServiceError::Failed(reason) => ToolError::Execution(reason),
        }
    }
}

/// Why a service failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The request cannot be met (an unknown recipient, nothing to commit); the text tells the
    /// model what is possible.
    #[error("{0}")]
    Invalid(String),
    /// A rule refuses the request.
    #[error("{reason}")]
    Denied {
        /// The id of the rule.
        rule: String,
        /// Why, and what is allowed instead.
        reason: String,
    },
    /// Another host cannot be reached, or does not do its part.
    #[error("{0}")]
    Unreachable(String),
    /// It was not done in time.
    #[error("not done within {seconds} s")]
    TimedOut {
        /// The limit in seconds.
        seconds: u64,
    },
    /// It was given up on request, and whether it had an effect is not known.
    #[error("{0}")]
    Interrupted(String),
    /// What the request needs is not there, which only the user can change.
    #[error("{0}")]
    Absent(String),
    /// The service itself failed.
    #[error("{0}")]
    Failed(String),
}

/// Why a registry or an executor could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolsError {
    /// Two tools have the same name.
    #[error("register the tool `{0}`: the name is taken")]
    Duplicate(String),
    /// A tool cannot be registered as it is.
    #[error("register the tool `{tool}`: {reason}")]
    Unusable {
        /// The tool's name.
        tool: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A plugin cannot be used.
    #[error("use the plugin `{plugin}`: {reason}")]
    Plugin {
        /// The plugin's name.
        plugin: String,
        /// Why.
        reason: String,
    },
    /// A tool's schema is not a JSON Schema of an object.
    #[error("compile the schema of the tool `{tool}`: {reason}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// What is wrong with the schema.
        reason: String,
    },
    /// A description file is not `<tool><description/><parameters/></tool>`.
    #[error("read {file}:{line}:{column}: {reason}")]
    Description {
        /// The path of the file.
        file: String,
        /// The line of the error, from 1.
        line: u32,
        /// The column of the error in characters, from 1.
        column: u32,
        /// What is wrong there.
        reason: String,
    },
}
