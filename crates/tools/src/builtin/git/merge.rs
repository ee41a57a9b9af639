//! `git_merge`.

use async_trait::async_trait;
use orchestrate_core::policy::{Access, Target};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments::read;
use super::super::facts::facts;
use super::wording::{data, lines_of, short};
use crate::arguments::invalid;
use crate::context::ToolContext;
use crate::effect::Effect;
use crate::error::ToolError;
use crate::files::Files;
use crate::operations::GitOperation;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::scope::CallScope;
use crate::services::{ConflictHunk, MergeConflict, MergeResult};
use crate::tool::Tool;

/// The `git_merge` tool.
pub(crate) struct GitMerge(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    branch: String,
}

#[async_trait]
impl Tool for GitMerge {
    facts!("git_merge", GIT, GitOperations, is_default: false, changes_files: true);

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        let branch = arguments
            .get("branch")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if branch.trim().is_empty() {
            Err(invalid("`branch` is empty"))
        } else {
            Ok(())
        }
    }

    fn effects(&self, _: &Value) -> Vec<Effect> {
        vec![Effect {
            access: Access::Write,
            target: Target::Path(String::new()),
        }]
    }

    async fn rehearse(
        &self,
        scope: &CallScope,
        _: &Files,
        arguments: &Value,
    ) -> Result<(), ToolError> {
        let Arguments { branch } = read(arguments.clone())?;
        scope
            .services
            .git
            .rehearse(&GitOperation::Merge { branch })
            .await?;
        Ok(())
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { branch } = read(arguments)?;
        let result = context.services().git.merge(&branch).await?;
        Ok(Answer::new(text(&result), data(&result)))
    }
}

/// Words the result of a merge.
pub(super) fn text(result: &MergeResult) -> String {
    let (name, other) = (shown(&result.branch), short(result.other.as_str()));
    if !result.conflicts.is_empty() {
        let mut lines = vec![format!(
            "{name} ({other}) conflicts with your work. The merge is in your worktree: resolve these files, then call \
            `git_commit`; `git_checkout` of HEAD gives it up."
        )];
        lines.extend(result.conflicts.iter().flat_map(conflict));
        return lines.join("\n");
    }
    match &result.commit {
        Some(commit) => {
            let mut lines = vec![format!(
                "merged {name} ({other}) as {}",
                short(commit.as_str())
            )];
            lines.extend(lines_of(&result.changes));
            lines.join("\n")
        }
        None => format!("your branch has everything of {name} ({other}) already"),
    }
}

fn conflict(conflict: &MergeConflict) -> Vec<String> {
    let path = shown(&conflict.path);
    let mut lines = vec![format!("{path}: {}", conflict.kind)];
    lines.extend(conflict.hunks.iter().map(place_of));
    if conflict.hunks.is_empty() {
        lines.push("  no markers: write, restore or delete the file to decide".to_owned());
    }
    lines
}

fn place_of(hunk: &ConflictHunk) -> String {
    format!("  lines {}-{}", hunk.first_line, hunk.last_line)
}
