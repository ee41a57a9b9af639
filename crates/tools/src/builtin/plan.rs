//! `read_plan`: what of the plan did not fit into the agent's first message.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::facts::facts;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::Files;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::scope::CallScope;
use crate::tool::Tool;

/// The `read_plan` tool.
pub(super) struct ReadPlan(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    section: Option<String>,
}

#[async_trait]
impl Tool for ReadPlan {
    facts!("read_plan", AGENTS, None);

    /// Looks only whether there is a plan: which sections it has is a part of what the person is
    /// asked about.
    async fn rehearse(&self, scope: &CallScope, _: &Files, _: &Value) -> Result<(), ToolError> {
        scope.services.plan.read(None).await?;
        Ok(())
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { section } = read(arguments)?;
        let text = context.services().plan.read(section.as_deref()).await?;
        let data = json!({"section": section, "bytes": text.len()});
        Ok(Answer::new(text, data))
    }
}
