//! What the place where workers run gives them: a sandbox, the tools, the models, the counting of tokens.
//!
//! Nothing here belongs to one run's journal or repository, so a worker elsewhere brings its own.

use std::sync::Arc;

use orchestrate_core::Redactor;
use orchestrate_model::LazyCounter;
use orchestrate_sandbox::Sandbox;
use orchestrate_tools::Executor;

use crate::texts::models::Models;

/// What the place where workers run gives them.
pub(crate) struct Host {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) executor: Executor,
    pub(crate) models: Models,
    pub(crate) counter: LazyCounter,
    /// Keeps the run's secrets out of what is told and recorded here.
    pub(crate) redactor: Redactor,
}
