//! `git_branch` and `git_checkout`.

use async_trait::async_trait;
use orchestrate_core::policy::{Access, Target};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments::read;
use super::super::facts::facts;
use super::paths;
use super::wording::{data, lines_of, short};
use crate::arguments::invalid;
use crate::context::ToolContext;
use crate::effect::Effect;
use crate::error::ToolError;
use crate::files::Files;
use crate::operations::{BranchAction, GitOperation};
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::scope::CallScope;
use crate::tool::Tool;

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

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        let needs_name = arguments.get("action").and_then(Value::as_str) != Some("list");
        match arguments.get("branch_name").and_then(Value::as_str) {
            None | Some("") if needs_name => Err(invalid(
                "`branch_name` is required, except for the action `list`",
            )),
            _ => Ok(()),
        }
    }

    async fn rehearse(
        &self,
        scope: &CallScope,
        _: &Files,
        arguments: &Value,
    ) -> Result<(), ToolError> {
        let BranchArguments {
            action,
            branch_name: name,
        } = read(arguments.clone())?;
        scope
            .services
            .git
            .rehearse(&GitOperation::Branch { action, name })
            .await?;
        Ok(())
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

    fn normalize(
        &self,
        arguments: &mut Value,
        worktree: &std::path::Path,
    ) -> Result<(), ToolError> {
        paths::normalize("paths", arguments, worktree)
    }

    fn effects(&self, arguments: &Value) -> Vec<Effect> {
        let mut paths = paths::in_argument("paths", arguments);
        if paths.is_empty() {
            paths.push(String::new());
        }
        let write = |path| Effect {
            access: Access::Write,
            target: Target::Path(path),
        };
        paths.into_iter().map(write).collect()
    }

    async fn rehearse(
        &self,
        scope: &CallScope,
        _: &Files,
        arguments: &Value,
    ) -> Result<(), ToolError> {
        let CheckoutArguments {
            branch_or_commit: revision,
            paths,
        } = read(arguments.clone())?;
        scope
            .services
            .git
            .rehearse(&GitOperation::Checkout { revision, paths })
            .await?;
        Ok(())
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
