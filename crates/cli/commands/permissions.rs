//! `permissions`: says whether an agent may call a tool, without a run.

use orchestrate_coordinator::{AgentPermissions, PermissionError, Project, Roles};
use orchestrate_core::policy::Decision;
use orchestrate_settings::Layer;
use serde_json::json;

use crate::args::{PermissionsArgs, PermissionsCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::show::output;

/// The exit code for a call that a person decides about, as that of a run that waits for one.
const ASKS: u8 = 3;
/// The exit code for a call that is denied, as that of a run that failed by one.
const DENIED: u8 = 5;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &PermissionsArgs) -> Result<u8, CommandError> {
    let PermissionsCommand::Check { agent, tool, words, json } = &arguments.command;
    let loaded = context.load(Vec::new(), Layer::default())?;
    let directories = context.directories()?;
    let project = Project::open(&context.directory, &directories.state)?;
    let roles = project.roles(loaded.resolved.text("base").as_deref(), Some(&directories.config))?;
    let names = context.tool_names()?;
    let role = &found(&roles, agent)?.role;
    let permissions = AgentPermissions::of(role, &loaded.run, names, project.workdir()).map_err(of_permissions)?;
    let decision = permissions.decide(tool, words).map_err(of_permissions)?;
    let (word, reason, code) = match &decision {
        Decision::Allow { .. } => ("allow", None, 0),
        Decision::Ask { .. } => ("ask", None, ASKS),
        Decision::Deny { reason, .. } => ("deny", Some(reason), DENIED),
    };
    if json.json {
        let answer = json!({"agent": agent, "tool": tool, "decision": word, "rule": decision.rule(), "reason": reason});
        output::json(&answer)?;
    } else {
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        output::line(&format!("{word} by {}{reason}", decision.rule()))?;
    }
    Ok(code)
}

/// Returns the role of a name.
pub(super) fn found<'r>(roles: &'r Roles, name: &str) -> Result<&'r orchestrate_coordinator::FoundRole, CommandError> {
    let found = roles.iter().find(|(known, _)| *known == name);
    found.map(|(_, found)| found).ok_or_else(|| {
        let error = CommandError::usage(format!("there is no role `{name}`"));
        match orchestrate_plan::nearest(name, roles.iter().map(|(name, _)| name)) {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error.hint("`orchestrate agents list` lists them"),
        }
    })
}

fn of_permissions(error: PermissionError) -> CommandError {
    let usage = CommandError::usage(format!("failed to {error}"));
    match error {
        PermissionError::UnknownTool { nearest: Some(nearest), .. } => usage.hint(format!("did you mean `{nearest}`?")),
        _ => usage,
    }
}
