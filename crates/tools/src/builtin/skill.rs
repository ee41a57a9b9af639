//! `read_skill`: the body of a skill that the system text lists, or a file of its folder.

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

/// The `read_skill` tool.
pub(super) struct ReadSkill(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    name: String,
    #[serde(default)]
    file: Option<String>,
}

#[async_trait]
impl Tool for ReadSkill {
    facts!("read_skill", AGENTS, None);

    async fn rehearse(
        &self,
        scope: &CallScope,
        _: &Files,
        arguments: &Value,
    ) -> Result<(), ToolError> {
        let Arguments { name, file } = read(arguments.clone())?;
        scope.services.skills.read(&name, file.as_deref()).await?;
        Ok(())
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { name, file } = read(arguments)?;
        let text = context
            .services()
            .skills
            .read(&name, file.as_deref())
            .await?;
        let data = json!({"name": name, "file": file, "bytes": text.len()});
        Ok(Answer::new(text, data))
    }
}
