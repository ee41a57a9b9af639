//! `git_stash`.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

use super::super::facts::facts;
use super::wording::{data, lines_of, short};
use crate::answer::{Answer, ToolError};
use crate::call::Effect;
use crate::services::{GitOperation, GitStash as Entry, StashAction};
use crate::tool::arguments::{given_text, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `git_stash` tool.
pub(crate) struct GitStash(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    #[serde(default = "push")]
    action: StashAction,
}

/// The default action, as in the reference.
fn push() -> StashAction {
    StashAction::Push
}

#[async_trait]
impl Tool for GitStash {
    facts!("git_stash", GIT, GitOperations, is_default: false, changes_files: true);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let effects = match given_text(&arguments, "action") {
            "list" | "drop" => Vec::new(),
            _ => vec![Effect::written(String::new())],
        };
        let rehearsal = Look::at_git(|arguments: Arguments| GitOperation::Stash {
            action: arguments.action,
        });
        Ok(Prepared {
            effects,
            rehearsal: Some(rehearsal),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { action } = read(arguments)?;
        if action == StashAction::Push {
            refuse_forbidden(context).await?;
        }
        let result = context.services().git.stash(action).await?;
        let id = result
            .entry
            .as_ref()
            .map_or("", |entry| short(entry.commit.as_str()));
        let mut lines = match action {
            StashAction::Push => vec![format!(
                "set aside as {id}; your worktree is as in your last commit"
            )],
            StashAction::Pop => vec![format!("{id} is back in your worktree")],
            StashAction::Drop => vec![format!(
                "dropped {id}; `git_checkout` still finds it by this id"
            )],
            StashAction::List if result.stashes.is_empty() => {
                vec!["nothing is set aside".to_owned()]
            }
            StashAction::List => result
                .stashes
                .iter()
                .enumerate()
                .map(|(at, entry)| line(at, entry))
                .collect(),
        };
        lines.extend(lines_of(&result.changes));
        Ok(Answer::new(lines.join("\n"), data(&result)))
    }
}

/// Refuses to set aside a change of a file that the agent may not write, since that would undo it.
async fn refuse_forbidden(context: &ToolContext) -> Result<(), ToolError> {
    let guard = context.write_guard();
    let allowed = Arc::new(move |path: &str| guard.check(path).is_ok());
    let changes = context.services().git.diff(false, allowed).await?;
    changes
        .withheld
        .iter()
        .try_for_each(|path| context.write_guard().check(path))
}

fn line(at: usize, entry: &Entry) -> String {
    format!(
        "stash@{{{at}}} {} {}",
        short(entry.commit.as_str()),
        entry.message
    )
}
