//! Why a request of a worker was not answered, as far as that concerns the worker.

use orchestrate_core::task::FailureCause;
use serde::{Deserialize, Serialize};

/// Why a request was not answered: the text, and what follows for the task.
///
/// An error that concerns the whole run stays at the coordinator, which ends the run with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum LinkError {
    /// The request names something that does not exist; another one may be answered.
    #[error("{0}")]
    Invalid(String),
    /// It failed for a reason of this task alone.
    #[error("{message}")]
    Task {
        /// How the task fails if it cannot go on without the reply.
        cause: FailureCause,
        /// The error.
        message: String,
    },
    /// The run cannot go on.
    #[error("{0}")]
    Run(String),
}

impl LinkError {
    /// Returns the failure of the task that cannot go on without the reply; `None` if the run
    /// cannot go on either.
    pub(crate) fn own_failure(&self) -> Option<FailureCause> {
        match self {
            Self::Invalid(_) => Some(FailureCause::Setup),
            Self::Task { cause, .. } => Some(*cause),
            Self::Run(_) => None,
        }
    }
}
