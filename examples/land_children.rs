//! Spawns two agents from a program, answers the question of one, reads the other one's answer,
//! merges their work, and lands it in the branch that the run started from: a whole run in one
//! async program.
//!
//! It needs no key: the replies are scripted, and everything else is the real engine. Type `cargo
//! run --example land_children`. To use a real model, begin with [`Settings::from_env`], which has
//! your keys, leave [`Settings::model`] out, and name a model in `ORCHESTRATE_MODEL` or
//! `settings.run.model`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]
#![expect(
    clippy::disallowed_methods,
    reason = "an example makes its own sample project"
)]

mod sample;

use std::error::Error;
use std::sync::Arc;

use orchestrate_coordinator::{
    Archive, ChildSpec, CleanOptions, Coordinator, LandOptions, Settings, run_helper_if_asked,
};
use orchestrate_model::ScriptedModel;

/// The model's replies: one agent asks before it writes a file, and the other one only answers.
const SCRIPT: &str = r#"
{"task": "greeting", "when": {"turn": 1}, "reply": {"tool_calls": [{"name": "send_message_to_agent", "arguments": {"agent_id": "user", "message": "In which language?", "kind": "question", "wait": true}}]}}
{"task": "greeting", "when": {"last_contains": "English"}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "greeting.txt", "content": "Hello!\n"}}]}}
{"task": "reader", "reply": {"text": "It is a sample."}}
{"reply": {"text": "I wrote the greeting."}}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The sandbox starts this program again as its helper, so this comes first.
    run_helper_if_asked();

    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    sample::make(&project, &[("README.md", "# sample\n")])?;
    let settings = || -> Result<Settings, Box<dyn Error>> {
        let mut settings = Settings::new(folder.path().join("state"));
        settings.model = Some(Arc::new(ScriptedModel::parse("example", SCRIPT)?));
        Ok(settings)
    };
    let coordinator = Coordinator::open(&project, settings()?)?;

    let child = |id: &str, task: &str| ChildSpec {
        id: Some(id.into()),
        ..ChildSpec::new(task)
    };
    let greeting = coordinator
        .spawn(child("greeting", "Write a greeting"))
        .await?;
    // A child without a role may answer without changing a file.
    let reader = coordinator
        .spawn(child("reader", "What kind of project is this?"))
        .await?;

    // The agent waits for the answer without holding a slot.
    greeting.wait().await?;
    for question in greeting.questions()? {
        println!("the greeting's agent asks: {}", question.body);
        greeting.answer(&question, "English").await?;
    }
    let handed = reader
        .wait()
        .await?
        .hand_back
        .ok_or("the reader has handed nothing in")?;
    println!("the reader answers: {}", handed.summary);

    coordinator.merge(&[greeting]).await?;
    let report = coordinator.finish().await?.ok_or("no agent was spawned")?;
    // The runs that have ended; nothing of them needs a model.
    let runs = Archive::open(&project, settings()?)?;
    let landed = runs.land(&report.run_id, &LandOptions::default()).await?;
    let text = sample::git(
        &project,
        &["show", &format!("{}:greeting.txt", landed.branch)],
    )?;
    println!("{} has the greeting: {text}", landed.branch);
    runs.clean(&report.run_id, CleanOptions::default()).await?;
    Ok(())
}
