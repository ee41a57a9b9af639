//! Searches of the web by the endpoint of the agent's model, which the coordinator makes and the
//! budgets pay for.

use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::CallId;
use orchestrate_core::agent::model_search::SearchReply;
use orchestrate_sandbox::Cancel;

use crate::answer::ServiceError;

/// A search of a call.
pub struct Search {
    /// The call.
    pub call: CallId,
    /// The query.
    pub query: String,
    /// The maximum time until the reply.
    pub timeout: Duration,
    /// Ends the search; what it was expected to use is counted then.
    pub cancel: Cancel,
}

/// What a model's endpoint found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundByModel {
    /// `provider/model`.
    pub model: String,
    /// What it found.
    pub reply: SearchReply,
}

/// Searches of the web by the endpoint of the agent's model.
#[async_trait]
pub trait SearchService: Send + Sync {
    /// Makes one request, once every budget covers it, and records what it has used.
    ///
    /// # Errors
    /// [`ServiceError::Absent`] if the endpoint has no search, or its price is not known and a
    /// budget needs it; [`ServiceError::Denied`] if a budget does not cover it.
    async fn search(&self, search: Search) -> Result<FoundByModel, ServiceError>;
}
