//! Runs a plan whose branches wait for a review, approves or rejects each by its changes, and
//! continues.
//!
//! A branch that deletes tests is returned with a comment, and the same agent fixes it. It needs no
//! key: the replies are scripted. Type `cargo run --example review_branches`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]
#![expect(
    clippy::disallowed_methods,
    reason = "an example makes its own sample project"
)]

mod sample;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use orchestrate_coordinator::{Coordinator, PlanInput, Settings, run_helper_if_asked};
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::run::request::Request;
use orchestrate_core::{Report, RunId};
use orchestrate_model::ScriptedModel;
use orchestrate_plan::{KnownNames, Plan};

const PLAN: &str = "# Two changes\n\n- [ ] T1 Add the adder\n- [ ] T2 Add the doubler\n";

/// The model's replies: T2 first deletes a test, and restores it after the comment.
const SCRIPT: &str = r#"
{"task": "T1", "when": {"turn": 1}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "add.sh", "content": "echo $(($1 + $2))\n"}}]}}
{"task": "T2", "when": {"turn": 1}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "double.sh", "content": "echo $(($1 * 2))\n"}}, {"name": "delete_file", "arguments": {"path": "tests/all.sh"}}]}}
{"task": "T2", "when": {"returned": "rejected"}, "reply": {"tool_calls": [{"name": "write_file", "arguments": {"path": "tests/all.sh", "content": "test -e README.md\n"}}]}}
{"reply": {"text": "Done."}}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The sandbox starts this program again as its helper, so this comes first.
    run_helper_if_asked();

    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    sample::make(
        &project,
        &[
            ("README.md", "# sample\n"),
            ("tests/all.sh", "test -e README.md\n"),
        ],
    )?;
    let mut settings = Settings::new(folder.path().join("state"));
    settings.model = Some(Arc::new(ScriptedModel::parse("example", SCRIPT)?));
    settings.run.merge = MergeMode::Review;
    let coordinator = Coordinator::open(&project, settings)?;

    let plan = Plan::parse(PLAN, &KnownNames::roles(["implementer"]))
        .map_err(|errors| format!("{errors:?}"))?;
    let input = PlanInput {
        text: PLAN.to_owned(),
        title: plan.title,
        tasks: plan.tasks,
        ..PlanInput::default()
    };
    let mut report = coordinator.run(input).await?;

    // A run whose branches wait for a review has ended; each round of answers resumes it.
    while decide(&coordinator, &project, &report)? {
        report = coordinator.resume(&report.run_id).await?.wait().await?;
    }
    println!(
        "the run is {}; the result is on {}",
        report.status,
        report.run_id.integration_branch()
    );
    println!(
        "{}",
        sample::git(
            &project,
            &[
                "ls-tree",
                "-r",
                "--name-only",
                &report.run_id.integration_branch()
            ]
        )?
    );
    Ok(())
}

/// Answers for every branch that waits; returns whether there was any.
fn decide(
    coordinator: &Coordinator,
    project: &Path,
    report: &Report,
) -> Result<bool, Box<dyn Error>> {
    let waiting =
        |task: &&orchestrate_core::projections::report::TaskReport| task.state.awaits_review();
    let mut answered = false;
    for task in report.tasks.iter().filter(waiting) {
        let branch = task.branch.clone().unwrap_or_default();
        let changes = sample::git(
            project,
            &[
                "diff",
                "--name-status",
                &format!("{}...{branch}", report.base_commit),
            ],
        )?;
        let command = if changes.lines().any(|line| line.starts_with("D\ttests/")) {
            println!("{} is rejected: it deletes tests", task.id);
            let message = "Keep the tests.".to_owned();
            Request::Reject {
                task: task.id.clone(),
                message,
                at: Some("tests/all.sh:1".to_owned()),
            }
        } else {
            println!("{} is approved", task.id);
            // The approval applies to exactly the reviewed tree.
            let tree = tree_of(coordinator, &report.run_id, task)?;
            Request::Approve {
                task: task.id.clone(),
                tree,
            }
        };
        coordinator.store().send(&report.run_id, &command)?;
        answered = true;
    }
    Ok(answered)
}

fn tree_of(
    coordinator: &Coordinator,
    run: &RunId,
    task: &orchestrate_core::projections::report::TaskReport,
) -> Result<orchestrate_core::Oid, Box<dyn Error>> {
    let state = coordinator.store().state(run)?;
    let tree = state
        .task(&task.id)
        .and_then(|record| record.tree().cloned());
    tree.ok_or_else(|| format!("{} has no tree", task.id).into())
}
