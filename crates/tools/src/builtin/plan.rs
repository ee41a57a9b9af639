//! `read_plan`: what of the plan did not fit into the agent's first message.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::call::CallScope;
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

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
    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::new(|scope: CallScope, _, _: Value| async move {
            scope.services.plan.read(None).await?;
            Ok(())
        });
        Ok(Prepared::new(arguments).rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { section } = read(arguments)?;
        let text = context.services().plan.read(section.as_deref()).await?;
        let data = json!({"section": section, "bytes": text.len()});
        Ok(Answer::new(text, data))
    }
}
