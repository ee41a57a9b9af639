//! The resources of the machine where workers run: a sandbox, the tools, the models, the token counter.
//!
//! Nothing here belongs to one run's journal or repository, so a worker elsewhere provides its own.

use std::sync::Arc;

use orchestrate_core::Redactor;
use orchestrate_model::LazyCounter;
use orchestrate_sandbox::Sandbox;
use orchestrate_tools::{Executor, SharedValues};

use crate::run::results::Results;
use crate::texts::models::Models;

/// The resources of the machine where workers run.
pub(crate) struct Host {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) executor: Executor,
    /// The stored results of tools.
    pub(crate) results: Arc<Results>,
    /// The values that the run's tools share.
    pub(crate) shared: SharedValues,
    pub(crate) models: Models,
    pub(crate) counter: LazyCounter,
    /// Redacts the run's secrets from everything that is sent and recorded here.
    pub(crate) redactor: Redactor,
}
