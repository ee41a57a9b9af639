//! `git_branch` and `git_checkout`.

use async_trait::async_trait;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::Value;

use super::super::facts::facts;
use super::wording::{data, lines_of, short};
use crate::answer::{Answer, ToolError};
use crate::call::Effect;
use crate::services::{BranchAction, GitOperation};
use crate::tool::arguments::{given_text, invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `git_branch` tool.
pub(crate) struct GitBranch(pub(crate) Prompt);

#[derive(Deserialize)]
struct BranchArguments {
    action: BranchAction,
    branch_name: Option<String>,
}

#[async_trait]
impl Tool for GitBranch {
    facts!("git_branch", GIT, GitOperations, is_default: false);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let needs_name = given_text(&arguments, "action") != "list";
        let lacks_name = needs_name && given_text(&arguments, "branch_name").is_empty();
        let rehearsal = Look::at_git(|arguments: BranchArguments| GitOperation::Branch {
            action: arguments.action,
            name: arguments.branch_name,
        });
        Ok(Prepared {
            fault: lacks_name
                .then(|| invalid("`branch_name` is required, except for the action `list`")),
            rehearsal: Some(rehearsal),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let BranchArguments {
            action,
            branch_name,
        } = read(arguments)?;
        let result = context
            .services()
            .git
            .branch(action, branch_name.as_deref())
            .await?;
        let name = shown(branch_name.as_deref().unwrap_or_default());
        let head = short(result.head.as_str());
        let mut lines = match action {
            BranchAction::Create => vec![format!(
                "{name} names {head}; you stay on {}",
                result.current
            )],
            BranchAction::Delete => vec![format!("{name} is deleted; its commit stays")],
            BranchAction::List => vec![format!("* {} {head}", result.current)],
        };
        let own = result
            .branches
            .iter()
            .filter(|_| action == BranchAction::List);
        lines.extend(own.map(|branch| {
            format!(
                "  {} {}",
                shown(&branch.name),
                short(branch.commit.as_str())
            )
        }));
        Ok(Answer::new(lines.join("\n"), data(&result)))
    }
}

/// The `git_checkout` tool.
pub(crate) struct GitCheckout(pub(crate) Prompt);

#[derive(Deserialize)]
struct CheckoutArguments {
    branch_or_commit: String,
    #[serde(default)]
    paths: Vec<String>,
}

#[async_trait]
impl Tool for GitCheckout {
    facts!("git_checkout", GIT, GitOperations, is_default: false, changes_files: true);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let mut prepared = Prepared::on_listed_paths("paths", Effect::written, site, arguments)?;
        if prepared.effects.is_empty() {
            prepared.effects.push(Effect::written(String::new()));
        }
        let rehearsal = Look::at_git(|arguments: CheckoutArguments| GitOperation::Checkout {
            revision: arguments.branch_or_commit,
            paths: arguments.paths,
        });
        Ok(prepared.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let CheckoutArguments {
            branch_or_commit,
            paths,
        } = read(arguments)?;
        let result = context
            .services()
            .git
            .checkout(&branch_or_commit, &paths)
            .await?;
        let from = short(result.commit.as_str());
        let mut lines = vec![format!(
            "files of {from} are in your worktree; you are still on your own branch"
        )];
        if result.changes.is_empty() {
            lines = vec![format!("your worktree has these files of {from} already")];
        }
        lines.extend(lines_of(&result.changes));
        if let Some(before) = result
            .before
            .as_ref()
            .filter(|_| !result.changes.is_empty())
        {
            lines.push(format!(
                "to undo this, check out {}",
                short(before.as_str())
            ));
        }
        Ok(Answer::new(lines.join("\n"), data(&result)))
    }
}
