//! `read_skill`: the body of a skill that the system text lists, or a file of its folder.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::call::CallScope;
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

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

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::new(|scope: CallScope, _, arguments: Arguments| async move {
            let Arguments { name, file } = arguments;
            scope.services.skills.read(&name, file.as_deref()).await?;
            Ok(())
        });
        Ok(Prepared::new(arguments).rehearsed(rehearsal))
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
