//! The tools about an agent's own children: starting them, and ending them.

use async_trait::async_trait;
use orchestrate_core::messages::MAX_BODY_BYTES;
use orchestrate_core::run::child::{KeptWork, MAX_CONTEXT_BYTES};
use orchestrate_core::{AgentHandle, AgentId, CallId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::services::{AgentOperation, ChildRequest};
use crate::tool::arguments::{given_text, invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext, Waits};

/// The `spawn_child_agent` tool.
pub(super) struct SpawnChildAgent(pub(super) Prompt);

#[derive(Deserialize)]
struct SpawnArguments {
    task: String,
    role: Option<String>,
    context: Option<Value>,
    tools: Option<Vec<String>>,
    budget: Option<u64>,
}

impl SpawnArguments {
    /// Returns the child that is asked for.
    fn child(self) -> ChildRequest {
        let SpawnArguments {
            task,
            role,
            context,
            tools,
            budget,
        } = self;
        ChildRequest {
            call: None,
            task,
            role,
            context: context.as_ref().map(text_of),
            tools,
            budget,
        }
    }
}

#[async_trait]
impl Tool for SpawnChildAgent {
    // A child has no tool that its parent does not have.
    facts!("spawn_child_agent", AGENTS, AgentSpawn, is_default: false, changes_files: false);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal =
            Look::at_agents(|arguments: SpawnArguments| AgentOperation::Spawn(arguments.child()));
        Ok(Prepared {
            fault: require_task(&arguments).err(),
            rehearsal: Some(rehearsal),
            ..Prepared::on_name("role", arguments)
        })
    }

    fn as_waits(&self) -> Option<&dyn Waits> {
        Some(self)
    }

    async fn execute(&self, _: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        Err(ToolError::Execution(
            "a call that must not be repeated is answered, not run".to_owned(),
        ))
    }
}

fn require_task(arguments: &Value) -> Result<(), ToolError> {
    let task = given_text(arguments, "task");
    if task.trim().is_empty() {
        return Err(invalid("`task` is empty"));
    }
    let context = arguments.get("context").map(text_of).unwrap_or_default();
    for (name, bytes, most) in [
        ("task", task.len(), MAX_BODY_BYTES),
        ("context", context.len(), MAX_CONTEXT_BYTES),
    ] {
        if bytes > most {
            let reason = format!(
                "`{name}`: expected at most {most} bytes, got {bytes}; refer to a file instead"
            );
            return Err(invalid(&reason));
        }
    }
    Ok(())
}

#[async_trait]
impl Waits for SpawnChildAgent {
    async fn answer(
        &self,
        context: &ToolContext,
        call: &CallId,
        arguments: Value,
    ) -> Result<Option<Answer>, ToolError> {
        let arguments: SpawnArguments = read(arguments)?;
        let child = ChildRequest {
            call: Some(call.clone()),
            ..arguments.child()
        };
        let handle = context.services().agents.spawn(child).await?;
        Ok(Some(Answer::new(describe(&handle), json!(handle))))
    }
}

/// Returns text as it is, and anything else as JSON.
fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn describe(handle: &AgentHandle) -> String {
    let AgentHandle {
        agent_id,
        branch,
        role,
        tools,
        budget,
    } = handle;
    let budget = budget.map_or_else(
        || "within your own".to_owned(),
        |tokens| format!("{tokens} tokens"),
    );
    format!(
        "agent {agent_id} ({role}) begins with your work so far, on the branch {branch}\ntools: \
         {}\nbudget: {budget}",
        tools.join(", ")
    )
}

/// The `terminate_agent` tool.
pub(super) struct TerminateAgent(pub(super) Prompt);

#[derive(Deserialize)]
struct OneAgent {
    agent_id: AgentId,
}

#[async_trait]
impl Tool for TerminateAgent {
    facts!("terminate_agent", AGENTS, AgentSpawn, is_default: false, changes_files: false);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal =
            Look::at_agents(|arguments: OneAgent| AgentOperation::Terminate(arguments.agent_id));
        Ok(Prepared::on_name("agent_id", arguments).rehearsed(rehearsal))
    }

    fn as_waits(&self) -> Option<&dyn Waits> {
        Some(self)
    }

    async fn execute(&self, _: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        Err(ToolError::Execution(
            "a call that may wait is answered, not run".to_owned(),
        ))
    }
}

#[async_trait]
impl Waits for TerminateAgent {
    async fn answer(
        &self,
        context: &ToolContext,
        call: &CallId,
        arguments: Value,
    ) -> Result<Option<Answer>, ToolError> {
        let OneAgent { agent_id } = read(arguments)?;
        let ended = context.services().agents.terminate(call, &agent_id).await?;
        Ok(ended.map(|agents| {
            let lines: Vec<String> = agents.iter().map(left).collect();
            let terminated = agents.iter().all(|agent| agent.state.is_settled());
            Answer::new(
                lines.join("\n"),
                json!({ "terminated": terminated, "agents": agents }),
            )
        }))
    }
}

/// Describes what is left of an agent in one line.
fn left(work: &KeptWork) -> String {
    let KeptWork {
        agent_id,
        title,
        state,
        branch,
        commit,
    } = work;
    let kept = match (branch, commit) {
        (Some(branch), Some(commit)) => {
            format!("its work is kept: branch {branch}, newest files in commit {commit}")
        }
        _ => "it had not begun".to_owned(),
    };
    format!("{agent_id} ({title}): {}; {kept}", state.as_str())
}
