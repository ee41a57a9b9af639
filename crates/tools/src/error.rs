//! Why a tool failed: one taxonomy for every tool, so that every caller treats a class the same way.
//!
//! A [`ToolError`] is an answer to the model, not an error of the program: the executor turns it into a
//! [`crate::ToolOutput`]. What stops the program from going on is a [`ServiceError`] of the recorder.

pub use orchestrate_core::event::ErrorKind;
use orchestrate_core::invisible::shown;

/// Why a call failed, by what is done about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The model can repair it; the text says what to do differently.
    #[error("{0}")]
    Retry(String),
    /// A search ran into its limit; the model may ask for less.
    #[error("{0}")]
    TooBroad(String),
    /// The policy or the sandbox refused.
    #[error("Security validation failed: {reason}")]
    Denied {
        /// Why, and what is allowed instead.
        reason: String,
        /// The id of the rule that refused.
        rule: String,
    },
    /// A file tool met an I/O error other than "not found".
    #[error("{reason}: {path}")]
    File {
        /// The path as the model wrote it.
        path: String,
        /// What happened.
        reason: String,
    },
    /// A limit of time was reached.
    #[error("timed out after {seconds} s")]
    Timeout {
        /// The limit in seconds.
        seconds: u64,
        /// What the call had said by then.
        partial: String,
    },
    /// Connection, name resolution, or the other side's failure.
    #[error("{0}")]
    Network(String),
    /// Any other failure of the tool itself, panics included.
    #[error("{0}")]
    Execution(String),
    /// The call was cancelled, or the coordinator died; whether it had an effect is not known.
    #[error("interrupted: {0}")]
    Interrupted(String),
}

impl ToolError {
    /// Returns the class that the failure is recorded under; a search that was too broad is an execution
    /// failure that the model may retry.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ToolError::Retry(_) => ErrorKind::Retry,
            ToolError::Denied { .. } => ErrorKind::Denied,
            ToolError::File { .. } => ErrorKind::File,
            ToolError::Timeout { .. } => ErrorKind::Timeout,
            ToolError::Network(_) => ErrorKind::Network,
            ToolError::Execution(_) | ToolError::TooBroad(_) => ErrorKind::Execution,
            ToolError::Interrupted(_) => ErrorKind::Interrupted,
        }
    }

    pub(crate) fn denied(rule: &str, reason: impl Into<String>) -> ToolError {
        ToolError::Denied { reason: reason.into(), rule: rule.to_owned() }
    }

    pub(crate) fn file(path: &str, reason: impl Into<String>) -> ToolError {
        ToolError::File { path: shown(path), reason: reason.into() }
    }
}

impl From<ServiceError> for ToolError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Invalid(reason) => ToolError::Retry(reason),
            ServiceError::Failed(reason) => ToolError::Execution(reason),
        }
    }
}

/// Why a service did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The request cannot be met as it is; the text says what would be (an unknown recipient, nothing to commit).
    #[error("{0}")]
    Invalid(String),
    /// The service itself failed.
    #[error("{0}")]
    Failed(String),
}

/// Why a registry or an executor could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolsError {
    /// Two tools have the same name.
    #[error("register the tool `{0}`: the name is taken")]
    Duplicate(String),
    /// A tool's schema is not a JSON Schema of an object.
    #[error("compile the schema of the tool `{tool}`: {reason}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong.
        reason: String,
    },
    /// A description file is not `<tool><description/><parameters/></tool>`.
    #[error("read {file}:{line}:{column}: {reason}")]
    Description {
        /// The file.
        file: String,
        /// The line of what is wrong, from 1.
        line: u32,
        /// Its column in characters, from 1.
        column: u32,
        /// What is wrong.
        reason: String,
    },
}
