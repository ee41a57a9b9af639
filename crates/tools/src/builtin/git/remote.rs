//! `git_push` and `git_pull`: what the user is asked about is looked up first, and exactly that is
//! done.

use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::policy::host::Host;
use orchestrate_core::policy::{RemoteBranch, Target};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::merge;
use super::wording::{data, lines_of, short};
use crate::answer::{Answer, ToolError};
use crate::call::{CallScope, Effect, Foreseen};
use crate::files::Files;
use crate::services::{GitPushResult, PullPlan, PushPlan, PushState, RemoteTerms, UsersCommits};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The time limit of one connection, before a longer one is tried: a repository's whole history may
/// have to be sent.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The longest name of a remote or a branch in bytes; git takes no longer ones.
const LONGEST_NAME: usize = 250;

/// The `git_push` tool.
pub(crate) struct GitPush(pub(crate) Prompt);

/// The `git_pull` tool.
pub(crate) struct GitPull(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    #[serde(default = "origin")]
    remote: String,
    branch: Option<String>,
}

/// The default remote, as in the reference.
fn origin() -> String {
    "origin".to_owned()
}

impl Arguments {
    fn from_value(arguments: &Value) -> Result<Arguments, ToolError> {
        let Arguments { remote, branch } = read(arguments.clone())?;
        Ok(Arguments {
            remote: or_origin(remote),
            branch: branch.filter(|branch| !branch.is_empty()),
        })
    }
}

fn or_origin(text: String) -> String {
    if text.is_empty() { origin() } else { text }
}

/// Refuses names that git, or a program that it starts, could take for something else.
fn require_names(arguments: &Value) -> Result<(), ToolError> {
    let Arguments { remote, branch } = Arguments::from_value(arguments)?;
    let is_name = |name: &str| {
        let is_path = name.starts_with(['/', '.', '-'])
            || name.contains("..")
            || name.contains("//")
            || name.contains("@{");
        !is_path && name.len() <= LONGEST_NAME && !name.chars().any(is_odd)
    };
    if !is_name(&remote) {
        let reason = "`remote` is the name of a remote of the repository, such as `origin`, not an \
                      address or an option";
        return Err(invalid(reason));
    }
    match branch {
        Some(branch) if !is_name(&branch) || branch.starts_with("refs/") || branch == "HEAD" => {
            Err(invalid(
                "`branch` is the short name of one branch, without `refs/heads/`, `+` or `:`",
            ))
        }
        _ => Ok(()),
    }
}

fn is_odd(c: char) -> bool {
    c.is_control()
        || c.is_whitespace()
        || matches!(c, ':' | '+' | '*' | '?' | '[' | '\\' | '^' | '~')
}

/// Returns the effect of a call before anything is looked up: no rule about a host allows it.
fn unresolved(arguments: &Value) -> Effect {
    let Arguments { remote, branch } =
        Arguments::from_value(arguments).unwrap_or_else(|_| Arguments {
            remote: origin(),
            branch: None,
        });
    let branch = branch.unwrap_or_default();
    Effect::on(Target::Remote(RemoteBranch {
        remote,
        branch,
        ..RemoteBranch::default()
    }))
}

/// Parses the host of a remote that was looked up.
fn parsed(host: Option<&String>) -> Result<Option<Host>, ToolError> {
    host.map(|host| Host::parse(host))
        .transpose()
        .map_err(|error| ToolError::Execution(error.to_string()))
}

/// Returns what was decided about.
fn decided<T: DeserializeOwned>(context: &ToolContext) -> Result<T, ToolError> {
    let plan = context.permit().foreseen().cloned().unwrap_or_default();
    serde_json::from_value(plan).map_err(|_| {
        ToolError::Execution("nobody has decided about what the call would reach".to_owned())
    })
}

fn terms(context: &ToolContext) -> RemoteTerms {
    let limits = context.limits();
    let timeout = TIMEOUT
        .saturating_mul(limits.time_factor)
        .min(limits.max_command_timeout);
    RemoteTerms {
        timeout,
        fetched_bytes: limits.fetched_bytes,
        cancel: context.cancel().clone(),
    }
}

#[async_trait]
impl Tool for GitPush {
    facts!(
        "git_push", GIT, GitOperations,
        is_default: false,
        reaches_remotes: true,
        is_repeatable: true,
    );

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Ok(Prepared {
            effects: vec![unresolved(&arguments)],
            fault: require_names(&arguments).err(),
            foresight: Some(Look::new(foresee_push)),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        let plan: PushPlan = decided(context)?;
        let result = context.services().git.push(&plan, terms(context)).await?;
        Ok(Answer::new(pushed(&result, &plan), data(&result)))
    }
}

async fn foresee_push(
    scope: CallScope,
    _: Files,
    arguments: Value,
) -> Result<Option<Foreseen>, ToolError> {
    let Arguments { remote, branch } = Arguments::from_value(&arguments)?;
    let git = &scope.services.git;
    let plan = git.foresee_push(&remote, branch.as_deref()).await?;
    let to = RemoteBranch {
        remote: plan.remote.clone(),
        branch: plan.branch.clone(),
        host: parsed(plan.host.as_ref())?,
        protected: plan.protected.clone(),
        publishes_users: plan.users_commits.is_some(),
    };
    Ok(Some(Foreseen {
        effects: vec![Effect::on(Target::Remote(to))],
        details: data(&plan),
    }))
}

#[async_trait]
impl Tool for GitPull {
    facts!(
        "git_pull", GIT, GitOperations,
        is_default: false,
        changes_files: true,
        reaches_remotes: true,
        is_repeatable: true,
    );

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Ok(Prepared {
            effects: vec![unresolved(&arguments), Effect::written(String::new())],
            fault: require_names(&arguments).err(),
            foresight: Some(Look::new(foresee_pull)),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        let plan: PullPlan = decided(context)?;
        let result = context.services().git.pull(&plan, terms(context)).await?;
        Ok(Answer::new(merge::text(&result.merge), json!(result)))
    }
}

async fn foresee_pull(
    scope: CallScope,
    _: Files,
    arguments: Value,
) -> Result<Option<Foreseen>, ToolError> {
    let Arguments { remote, branch } = Arguments::from_value(&arguments)?;
    let git = &scope.services.git;
    let plan = git.foresee_pull(&remote, branch.as_deref()).await?;
    let from = RemoteBranch {
        remote: plan.remote.clone(),
        branch: plan.branch.clone(),
        host: parsed(plan.host.as_ref())?,
        ..RemoteBranch::default()
    };
    Ok(Some(Foreseen {
        effects: vec![
            Effect::on(Target::Remote(from)),
            Effect::written(String::new()),
        ],
        details: data(&plan),
    }))
}

fn pushed(result: &GitPushResult, plan: &PushPlan) -> String {
    let commit = short(result.commit.as_str());
    let place = format!("{}/{}", result.remote, result.branch);
    let place = format!("{} ({})", shown(&place), shown(&result.address));
    let mut lines = vec![match result.state {
        PushState::Created => format!("pushed {commit} as the new branch {place}"),
        PushState::Forwarded => format!("pushed {commit} to {place}"),
        PushState::UpToDate => format!("{place} has {commit} already"),
    }];
    if !matches!(result.state, PushState::UpToDate) {
        lines.extend(plan.commits.iter().map(|commit| shown(commit)));
        lines.extend(plan.users_commits.iter().flat_map(gone_along));
    }
    if !result.uncommitted.is_empty() {
        lines.push(
            "not pushed, since it is in no commit of yours; call `git_commit` and push again:"
                .to_owned(),
        );
        lines.extend(lines_of(&result.uncommitted));
    }
    lines.join("\n")
}

/// Returns the lines about commits of the user's that were published with those of the run.
fn gone_along(users: &UsersCommits) -> Vec<String> {
    let UsersCommits { count, newest } = users;
    let heading = format!(
        "with it, commits of the user's that the remote was not known to have, {count} in all:"
    );
    let others = count.saturating_sub(newest.len());
    let others = (others > 0).then(|| format!("and {others} more"));
    std::iter::once(heading)
        .chain(newest.iter().map(|commit| shown(commit)))
        .chain(others)
        .collect()
}
