//! Tools for the agent's own branch, carried out by the coordinator.

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::facts::facts;
use crate::arguments::invalid;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::services;
use crate::tool::Tool;

/// The default number of commits of `git_log`, as in the reference.
const DEFAULT_LOG: usize = 10;
/// The maximum number of commits of `git_log`.
const MAX_LOG: usize = 200;
/// Number of characters of a commit's id to show.
const SHORT_ID: usize = 10;

/// The `git_status` tool.
pub(super) struct GitStatus(pub(super) Prompt);

#[async_trait]
impl Tool for GitStatus {
    facts!("git_status", GIT, GitOperations);

    async fn execute(&self, context: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        let status = context.services().git.status().await?;
        let head = status.head.as_ref().map_or("no commit", |head| short(head.as_str()));
        let mut lines = vec![format!("branch {} at {head}", status.branch)];
        lines.extend(status.changes.iter().map(|change| format!("{} {}", change.status, shown(&change.path))));
        if status.changes.is_empty() {
            lines.push("nothing to commit".to_owned());
        }
        Ok(Answer::new(lines.join("\n"), data(&status)))
    }
}

/// The `git_diff` tool.
pub(super) struct GitDiff(pub(super) Prompt);

#[derive(Deserialize)]
struct DiffArguments {
    #[serde(default)]
    staged: bool,
}

#[async_trait]
impl Tool for GitDiff {
    facts!("git_diff", GIT, GitOperations);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let DiffArguments { staged } = read(arguments)?;
        let diff = context.services().git.diff(staged).await?;
        let text = if diff.is_empty() { "no differences".to_owned() } else { diff.clone() };
        Ok(Answer::new(text, json!({ "diff": diff })))
    }
}

/// The `git_log` tool.
pub(super) struct GitLog(pub(super) Prompt);

#[derive(Deserialize)]
struct LogArguments {
    limit: Option<usize>,
}

#[async_trait]
impl Tool for GitLog {
    facts!("git_log", GIT, GitOperations);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let LogArguments { limit } = read(arguments)?;
        let commits = context.services().git.log(limit.unwrap_or(DEFAULT_LOG).min(MAX_LOG)).await?;
        let lines: Vec<String> = commits.iter().map(describe).collect();
        let text = if lines.is_empty() { "no commits".to_owned() } else { lines.join("\n") };
        Ok(Answer::new(text, data(&commits)))
    }
}

/// The `git_commit` tool.
pub(super) struct GitCommit(pub(super) Prompt);

#[derive(Deserialize)]
struct CommitArguments {
    message: String,
}

#[async_trait]
impl Tool for GitCommit {
    facts!("git_commit", GIT, GitOperations);

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        let message = arguments.get("message").and_then(Value::as_str).unwrap_or_default();
        if message.trim().is_empty() { Err(invalid("`message` is empty")) } else { Ok(()) }
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let CommitArguments { message } = read(arguments)?;
        let commit = context.services().git.commit(&message).await?;
        let mut text = format!("committed {}", describe(&commit));
        if !commit.left_out.is_empty() {
            let left_out: Vec<String> = commit.left_out.iter().map(|path| shown(path)).collect();
            text.push_str(&format!("\nleft out, since git cannot store it: {}", left_out.join(", ")));
        }
        Ok(Answer::new(text, data(&commit)))
    }
}

fn describe(commit: &services::GitCommit) -> String {
    format!("{} {}", short(commit.id.as_str()), commit.message.lines().next().unwrap_or_default())
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

fn data(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}
