//! Spawns two agents from a program, sends a message to one of them, and merges the work of both.
//!
//! It needs no key: the replies are scripted, and everything else is the real engine. Type `cargo
//! run --example spawn_children`. To use a real model, begin with [`Settings::from_env`], which has
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

use orchestrate_coordinator::{ChildSpec, Coordinator, Settings, run_helper_if_asked};
use orchestrate_model::ScriptedModel;

/// The model's replies: each agent writes a file and ends.
const SCRIPT: &str = r#"
{"task": "greeting", "when": {"turn": 1}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "greeting.txt", "content": "Hello!\n"}}]}}
{"task": "farewell", "when": {"turn": 1}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "farewell.txt", "content": "Goodbye!\n"}}]}}
{"reply": {"text": "I wrote the file."}}
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
    println!("commands are confined: {}", coordinator.confinement());

    let greeting = ChildSpec {
        id: Some("greeting".into()),
        ..ChildSpec::new("Write a greeting")
    };
    // The check runs in the child's own worktree; if it fails, the child gets its work back.
    let verify = Some("grep -q Goodbye farewell.txt".to_owned());
    let farewell = ChildSpec {
        id: Some("farewell".into()),
        verify,
        ..ChildSpec::new("Write a farewell")
    };
    let children = [
        coordinator.spawn(greeting).await?,
        coordinator.spawn(farewell).await?,
    ];

    // A child reads the message before its next request; for one that has ended already, this is an
    // error.
    match children[0].send("Keep it short.").await {
        Ok(number) => println!("message {number} is on its way to {}", children[0].id),
        Err(error) => println!("{error}"),
    }
    for child in &children {
        let report = child.wait().await?;
        println!(
            "{} is {} on {}",
            report.id,
            report.state.as_str(),
            report.branch.unwrap_or_default()
        );
    }

    let merged = coordinator.merge(&children).await?;
    println!(
        "{} children merged",
        merged
            .iter()
            .filter(|task| task.state.as_str() == "merged")
            .count()
    );
    if let Some(report) = coordinator.finish().await? {
        println!("the result is on {}:", report.run_id.integration_branch());
        println!(
            "{}",
            sample::git(
                &project,
                &[
                    "log",
                    "--oneline",
                    "--graph",
                    &report.run_id.integration_branch()
                ]
            )?
        );
    }
    Ok(())
}
