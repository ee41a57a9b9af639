//! Spawns an agent that asks a question and divides its task among agents of its own, answers the
//! question, and merges the tree.
//!
//! It needs no key: the replies are scripted, and everything else is the real engine. Type `cargo
//! run --example tree`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]
#![expect(
    clippy::disallowed_methods,
    reason = "an example makes its own sample project"
)]

mod sample;

use std::error::Error;
use std::sync::Arc;

use orchestrate_coordinator::{ChildSpec, Coordinator, Settings, run_helper_if_asked};
use orchestrate_model::ScriptedModel;

/// The model's replies: the first agent asks, spawns one agent for each text, and waits for them.
const SCRIPT: &str = r#"
{"task": "texts", "when": {"turn": 1}, "reply": {"tool_calls": [{"name": "send_message_to_agent", "arguments": {"agent_id": "user", "message": "In which language?", "kind": "question", "wait": true}}]}}
{"task": "texts", "when": {"last_contains": "English"}, "reply": {"tool_calls": [{"name": "spawn_child_agent", "arguments": {"task": "Write greeting.txt"}}, {"name": "spawn_child_agent", "arguments": {"task": "Write farewell.txt"}}]}}
{"task": "texts", "when": {"turn": 3}, "reply": {"tool_calls": [{"name": "wait_for_agents", "arguments": {"agent_ids": ["write_greeting_txt", "write_farewell_txt"]}}]}}
{"task": "write_greeting_txt", "when": {"turn": 1}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "greeting.txt", "content": "Hello!\n"}}]}}
{"task": "write_farewell_txt", "when": {"turn": 1}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "farewell.txt", "content": "Goodbye!\n"}}]}}
{"reply": {"text": "The texts are there."}}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The sandbox starts this program again as its helper, so this comes first.
    run_helper_if_asked();
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    sample::make(&project, &[("README.md", "# sample\n")])?;
    let mut settings = Settings::new(folder.path().join("state"));
    settings.model = Some(Arc::new(ScriptedModel::parse("example", SCRIPT)?));
    let coordinator = Coordinator::open(&project, settings)?;

    // Agents of this role can spawn others.
    let role = Some("coordinator".to_owned());
    let texts = ChildSpec {
        id: Some("texts".into()),
        role,
        ..ChildSpec::new("Write a greeting and a farewell")
    };
    let texts = coordinator.spawn(texts).await?;
    // The agent waits for the answer without holding a slot.
    texts.wait().await?;
    for question in texts.questions()? {
        println!("{} asks: {}", texts.id, question.body);
        texts.answer(&question, "English").await?;
    }
    coordinator.merge(&[texts]).await?;
    let report = coordinator.finish().await?.ok_or("no agent was spawned")?;
    for task in &report.tasks {
        let indent = "  ".repeat(task.depth.unwrap_or_default() as usize);
        println!("{indent}{}: {}", task.id, task.state.as_str());
    }
    println!(
        "{}",
        sample::git(
            &project,
            &[
                "ls-tree",
                "--name-only",
                &report.run_id.integration_branch()
            ]
        )?
    );
    Ok(())
}
