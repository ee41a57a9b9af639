//! `send_message_to_agent`: sends a text to another agent of the run.

use async_trait::async_trait;
use orchestrate_core::AgentId;
use orchestrate_core::message::MAX_BODY_BYTES;
use orchestrate_core::policy::Target;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::facts::facts;
use crate::arguments::invalid;
use crate::context::ToolContext;
use crate::effect::Effect;
use crate::error::ToolError;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::services::OutgoingMessage;
use crate::tool::Tool;

/// The `send_message_to_agent` tool.
pub(super) struct SendMessageToAgent(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    agent_id: String,
    message: Value,
    deadline: Option<u64>,
}

#[async_trait]
impl Tool for SendMessageToAgent {
    facts!("send_message_to_agent", AGENTS, AgentMessage);

    fn effects(&self, arguments: &Value) -> Vec<Effect> {
        let to = arguments.get("agent_id").and_then(Value::as_str).unwrap_or_default();
        vec![Effect::on(Target::Name(to.to_owned()))]
    }

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        match arguments.get("message").map(body_of).unwrap_or_default().len() {
            0 => Err(invalid("`message` is empty")),
            bytes if bytes > MAX_BODY_BYTES => Err(invalid(&format!(
                "`message`: expected at most {MAX_BODY_BYTES} bytes, got {bytes}; refer to a file instead"
            ))),
            _ => Ok(()),
        }
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { agent_id, message, deadline } = read(arguments)?;
        let to = AgentId::new(&*agent_id);
        let outgoing = OutgoingMessage { to, body: body_of(&message), deadline_seconds: deadline };
        let sequence = context.services().agents.send_message(outgoing).await?;
        let text = format!("message {sequence} to {agent_id} is queued");
        Ok(Answer::new(text, json!({"agent_id": agent_id, "sequence": sequence})))
    }
}

/// Returns the text of a message; an object is sent as JSON.
fn body_of(message: &Value) -> String {
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}
