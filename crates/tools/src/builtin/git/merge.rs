//! `git_merge`.

use async_trait::async_trait;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::Value;

use super::super::facts::facts;
use super::wording::{data, lines_of, short};
use crate::answer::{Answer, ToolError};
use crate::call::Effect;
use crate::services::{ConflictHunk, GitOperation, MergeConflict, MergeResult};
use crate::tool::arguments::{read, require_text};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `git_merge` tool.
pub(crate) struct GitMerge(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    branch: String,
}

#[async_trait]
impl Tool for GitMerge {
    facts!("git_merge", GIT, GitOperations, is_default: false, changes_files: true);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_git(|arguments: Arguments| GitOperation::Merge {
            branch: arguments.branch,
        });
        Ok(Prepared {
            effects: vec![Effect::written(String::new())],
            fault: require_text(&arguments, "branch").err(),
            rehearsal: Some(rehearsal),
            ..Prepared::new(arguments)
        })
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
            "{name} ({other}) conflicts with your work. The merge is in your worktree: resolve \
             these files, then call `git_commit`; `git_checkout` of HEAD gives it up."
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
