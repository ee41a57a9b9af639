//! `git_add` and `git_commit`.

use async_trait::async_trait;
use orchestrate_core::LeftAside;
use orchestrate_core::policy::Target;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::wording::{data, describe, lines_of};
use crate::answer::{Answer, ToolError};
use crate::call::Effect;
use crate::services::GitOperation;
use crate::tool::arguments::{read, require_text};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `git_add` tool.
pub(crate) struct GitAdd(pub(crate) Prompt);

#[derive(Deserialize)]
struct AddArguments {
    files: Vec<String>,
}

#[async_trait]
impl Tool for GitAdd {
    facts!("git_add", GIT, GitOperations, is_default: false);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_git(|arguments: AddArguments| GitOperation::Add {
            files: arguments.files,
        });
        Ok(Prepared::on_listed_paths("files", own, site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let AddArguments { files } = read(arguments)?;
        let selected = context.services().git.add(&files).await?;
        let mut lines = vec!["the next commit takes:".to_owned()];
        lines.extend(lines_of(&selected));
        if selected.is_empty() {
            lines = vec![
                "these files do not differ from your last commit; nothing is selected".to_owned(),
            ];
        }
        Ok(Answer::new(
            lines.join("\n"),
            json!({ "selected": selected }),
        ))
    }
}

fn own(path: String) -> Effect {
    Effect::on(Target::Path(path))
}

/// The `git_commit` tool.
pub(crate) struct GitCommit(pub(crate) Prompt);

#[derive(Deserialize)]
struct CommitArguments {
    message: String,
}

#[async_trait]
impl Tool for GitCommit {
    facts!("git_commit", GIT, GitOperations);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_git(|arguments: CommitArguments| GitOperation::Commit {
            message: arguments.message,
        });
        Ok(Prepared {
            fault: require_text(&arguments, "message").err(),
            rehearsal: Some(rehearsal),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let CommitArguments { message } = read(arguments)?;
        let commit = context.services().git.commit(&message).await?;
        let mut text = format!("committed {}", describe(&commit));
        if !commit.left_out.is_empty() {
            let left_out: Vec<String> = commit.left_out.iter().map(|path| shown(path)).collect();
            text.push_str(&format!(
                "\nleft out, since git cannot store it: {}",
                left_out.join(", ")
            ));
        }
        text.push_str(&described(&commit.aside));
        Ok(Answer::new(text, data(&commit)))
    }
}

/// Describes what stays in the worktree on purpose, a line each; empty if nothing does.
fn described(aside: &LeftAside) -> String {
    let mut text = String::new();
    if let Some(scratch) = aside.scratch_in_words() {
        text.push_str(&format!("\nleft out: {scratch}"));
    }
    for file in &aside.withheld {
        text.push_str(&format!("\nleft out until the user decides: {file}"));
    }
    if !aside.boxes.is_empty() {
        text.push_str(
            "\nthe boxes of the plan are as before: they are ticked when the run's work lands",
        );
    }
    text
}
