//! `permissions`: says whether an agent may call a tool, without a run.

use orchestrate_coordinator::{AgentPermissions, Answered, PermissionError, Project, Roles};
use orchestrate_core::policy::Decision;
use orchestrate_core::policy::hook::HookPoint;
use orchestrate_settings::Layer;

use crate::args::{PermissionsArgs, PermissionsCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::json::{Decided, Envelope, Output};
use crate::show::output;

/// The exit code for a call that a person decides about, as that of a run that waits for one, or
/// that is known only when it runs.
const ASKS: u8 = 3;
/// The exit code for a call that is denied, as that of a run that failed by one.
const DENIED: u8 = 5;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &PermissionsArgs) -> Result<u8, CommandError> {
    let PermissionsCommand::Check {
        agent,
        tool,
        words,
        json,
    } = &arguments.command;
    let loaded = context.load(Vec::new(), Layer::default())?;
    let directories = context.directories()?;
    let project = Project::open(&context.directory, &directories.state)?;
    let base = loaded.resolved.text("base");
    let roles = project.roles(base.as_deref(), Some(&directories.config))?;
    let tools = project.tools(base.as_deref(), Some(&directories.config))?;
    let role = &found(&roles, agent)?.role;
    let permissions = AgentPermissions::new(role, &loaded.run, tools.registry, project.workdir())
        .map_err(of_permissions)?;
    let answered = permissions.decide(tool, words);
    let answered = answered.map_err(|error| of_call(context, error))?;
    let name = context.tool_names()?.canonical(tool);
    let mut hooks = loaded.run.hooks.iter();
    let hook = hooks.find(|it| it.point == HookPoint::BeforeTool && it.is_about_tool(&name));
    let answered = match (answered, hook) {
        (Answered::Decided(decision @ Decision::Allow { .. }), Some(hook)) => Answered::Unknown {
            reason: format!("{} allows it, but {hook}", decision.rule()),
        },
        (answered, _) => answered,
    };
    let (word, rule, reason, code) = match &answered {
        Answered::Decided(decision @ Decision::Allow { .. }) => {
            ("allow", Some(decision.rule()), None, 0)
        }
        Answered::Decided(decision @ Decision::Ask { .. }) => {
            ("ask", Some(decision.rule()), None, ASKS)
        }
        Answered::Decided(Decision::Deny { rule, reason }) => {
            ("deny", Some(rule.as_str()), Some(reason), DENIED)
        }
        Answered::Refused { reason } => ("deny", None, Some(reason), DENIED),
        Answered::Unknown { reason } => ("unknown", None, Some(reason), ASKS),
    };
    if json.json {
        let decided = Output::Permission(Decided {
            agent: agent.clone(),
            tool: tool.clone(),
            decision: word.to_owned(),
            rule: rule.map(str::to_owned),
            reason: reason.cloned(),
        });
        output::json(&Envelope::new(None, decided))?;
    } else {
        let mut text = word.to_owned();
        match (rule, &answered) {
            (Some(rule), _) => text += &format!(" by {rule}"),
            (None, Answered::Refused { .. }) => text += " by the tool itself",
            (None, _) => {}
        }
        text.extend(reason.map(|reason| format!(": {reason}")));
        output::line(&text)?;
    }
    Ok(code)
}

/// Returns the role of a name.
pub(super) fn found<'r>(
    roles: &'r Roles,
    name: &str,
) -> Result<&'r orchestrate_coordinator::FoundRole, CommandError> {
    if let Some((_, found)) = roles.iter().find(|(known, _)| *known == name) {
        return Ok(found);
    }
    let error = format!("there is no role `{name}`");
    let known = roles.iter().map(|role| role.0);
    let error = CommandError::usage(error);
    Err(error.did_you_mean(name, known, "`orchestrate agents list` lists them"))
}

/// Returns the error of a call that cannot be decided. A tool's file that the user does not trust
/// defines no tool.
fn of_call(context: &Context, error: PermissionError) -> CommandError {
    let PermissionError::UnknownTool { tool, .. } = &error else {
        return of_permissions(error);
    };
    let is_defined = context
        .tool_names()
        .is_ok_and(|names| names.tool(&names.canonical(tool)).is_some());
    if !is_defined {
        return of_permissions(error);
    }
    let message = format!(
        "no run has the tool `{tool}`: its file in the project is not trusted, or not committed"
    );
    CommandError::usage(message)
        .hint("`orchestrate config trust` shows the files and asks about them")
}

fn of_permissions(error: PermissionError) -> CommandError {
    let usage = CommandError::usage(format!("failed to {error}"));
    match error {
        PermissionError::UnknownTool {
            nearest: Some(nearest),
            ..
        } => usage.hint(format!("did you mean `{nearest}`?")),
        _ => usage,
    }
}
