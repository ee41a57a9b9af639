//! `git_status`, `git_diff` and `git_log`.

use async_trait::async_trait;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::Value;

use super::super::facts::facts;
use super::wording::{data, describe, lines_of, short};
use crate::answer::{Answer, ToolError};
use crate::tool::arguments::read;
use crate::tool::{Prompt, Tool, ToolContext};

/// The default number of commits of `git_log`, as in the reference.
const DEFAULT_LOG: usize = 10;
/// The maximum number of commits of `git_log`.
const MAX_LOG: usize = 200;

/// The `git_status` tool.
pub(crate) struct GitStatus(pub(crate) Prompt);

#[async_trait]
impl Tool for GitStatus {
    facts!("git_status", GIT, GitOperations);

    async fn execute(&self, context: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        let status = context.services().git.status().await?;
        let head = status
            .head
            .as_ref()
            .map_or("no commit", |head| short(head.as_str()));
        let mut lines = vec![format!("branch {} at {head}", status.branch)];
        lines.extend(
            status
                .merging
                .iter()
                .map(|other| format!("merging {}", short(other.as_str()))),
        );
        lines.extend(lines_of(&status.changes));
        if status.changes.is_empty() && status.merging.is_none() {
            lines.push("nothing to commit".to_owned());
        }
        if !status.selected.is_empty() {
            lines.push("selected for the next commit:".to_owned());
            lines.extend(lines_of(&status.selected));
        }
        Ok(Answer::new(lines.join("\n"), data(&status)))
    }
}

/// The `git_diff` tool.
pub(crate) struct GitDiff(pub(crate) Prompt);

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
        let diff = context
            .services()
            .git
            .diff(staged, context.shows_path())
            .await?;
        let text = if diff.text.is_empty() {
            "no differences".to_owned()
        } else {
            diff.text.clone()
        };
        let names: Vec<String> = diff.withheld.iter().map(|path| shown(path)).collect();
        let withheld = (!names.is_empty())
            .then(|| format!("[not shown, as the rules demand: {}]", names.join(", ")));
        Ok(Answer {
            footer: withheld,
            ..Answer::new(text, data(&diff))
        })
    }
}

/// The `git_log` tool.
pub(crate) struct GitLog(pub(crate) Prompt);

#[derive(Deserialize)]
struct LogArguments {
    limit: Option<usize>,
}

#[async_trait]
impl Tool for GitLog {
    facts!("git_log", GIT, GitOperations);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let LogArguments { limit } = read(arguments)?;
        let commits = context
            .services()
            .git
            .log(limit.unwrap_or(DEFAULT_LOG).min(MAX_LOG))
            .await?;
        let lines: Vec<String> = commits.iter().map(describe).collect();
        let text = if lines.is_empty() {
            "no commits".to_owned()
        } else {
            lines.join("\n")
        };
        Ok(Answer::new(text, data(&commits)))
    }
}
