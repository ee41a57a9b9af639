//! A program's own say about each call, before the rules decide about it.

use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::{AgentId, ToolCall};
use serde_json::Value;

use crate::answer::ToolError;

/// How long a hook may take: a call waits for it, and its agent with it.
const MAX_TIME: Duration = Duration::from_secs(60);
/// What stands for the rule in the record of a call that a hook denies.
const RULE: &str = "the program's hook";

/// Decides about calls before the rules do. It can only narrow what they allow, or change what is
/// asked for; the changed call is decided about as if the agent had asked for it.
#[async_trait]
pub trait CallHook: Send + Sync {
    /// Decides about a call, by its name and its arguments as the tool takes them.
    async fn before(&self, agent: &AgentId, call: &ToolCall) -> HookRuling;
}

/// What a hook says about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum HookRuling {
    /// The rules decide.
    Pass,
    /// The rules decide about the call with these arguments instead.
    Change(Value),
    /// The call is denied; the agent is told why.
    Deny(String),
}

/// Asks a hook about a call, and returns its new arguments if it has changed them. One that takes
/// too long denies.
pub(super) async fn ask(
    hook: &dyn CallHook,
    agent: &AgentId,
    call: &ToolCall,
) -> Result<Option<Value>, ToolError> {
    let denied = |reason: String| ToolError::Denied {
        reason,
        rule: RULE.to_owned(),
    };
    match tokio::time::timeout(MAX_TIME, hook.before(agent, call)).await {
        Ok(HookRuling::Pass) => Ok(None),
        Ok(HookRuling::Change(arguments)) => Ok(Some(arguments)),
        Ok(HookRuling::Deny(reason)) => Err(denied(reason)),
        Err(_) => Err(denied(format!(
            "the program's hook has not decided within {} s",
            MAX_TIME.as_secs()
        ))),
    }
}
