//! `review_verdict`: how a task that reviews others ends.

use async_trait::async_trait;
use orchestrate_core::ReviewVerdict;
use serde_json::{Value, json};

use super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::tool::arguments::read;
use crate::tool::{Prompt, Tool, ToolContext};

/// The `review_verdict` tool.
pub(super) struct GiveVerdict(pub(super) Prompt);

#[async_trait]
impl Tool for GiveVerdict {
    // Only the tasks that review others have it.
    facts!("review_verdict", AGENTS, None, is_default: false);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let verdict: ReviewVerdict = read(arguments)?;
        let data = json!(verdict);
        context.services().review.give(verdict).await?;
        Ok(Answer::new("The verdict is recorded.", data))
    }
}
