//! What the fact of a request to a model names instead of the whole request.

use serde::{Deserialize, Serialize};

use crate::ids::BlobId;
use crate::task::ReturnCause;

/// The parts of a recorded request, relative to the agent's request before it.
///
/// Its messages are the first `keep_first` of the request before, then `add`, then the last
/// `keep_last` of the request before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RequestParts {
    /// The number of the fact of the agent's request before this one; `None` if nothing of it is
    /// kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The system text.
    pub system: BlobId,
    /// The list of the tools and their schemas, as JSON.
    pub tools: BlobId,
    /// The maximum number of tokens of the reply.
    pub max_output_tokens: u32,
    /// The JSON Schema of the agent's answer; `None` for words of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<BlobId>,
    /// Why the work was returned, in the first request after the return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<ReturnCause>,
    /// The number of messages of the request before that come first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub keep_first: usize,
    /// The messages in between, each as JSON.
    pub add: Vec<BlobId>,
    /// The number of messages of the request before that come last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub keep_last: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl RequestParts {
    /// Creates the parts of a request that keeps nothing of the one before.
    pub fn anew(
        system: BlobId,
        tools: BlobId,
        messages: Vec<BlobId>,
        max_output_tokens: u32,
    ) -> Self {
        let (after, returned) = (None, None);
        Self {
            after,
            system,
            tools,
            max_output_tokens,
            answers: None,
            returned,
            keep_first: 0,
            add: messages,
            keep_last: 0,
        }
    }

    /// Returns the number of messages of the request before that are kept.
    pub(crate) fn kept(&self) -> usize {
        self.keep_first.saturating_add(self.keep_last)
    }
}
