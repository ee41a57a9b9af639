//! `agents`: lists the roles that tasks can name, and shows one.

use orchestrate_coordinator::{FoundRole, Project, Roles};
use orchestrate_core::Address;
use orchestrate_core::policy::Permission;
use orchestrate_settings::Layer;

use super::permissions;
use crate::args::{AgentsArgs, AgentsCommand};
use crate::context::Context;
use crate::error::CommandError;
use crate::json::{Envelope, ListedRole, Output};
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &AgentsArgs) -> Result<u8, CommandError> {
    let loaded = context.load(Vec::new(), Layer::default())?;
    let directories = context.directories()?;
    let project = Project::open(&context.directory, &directories.state)?;
    let base = loaded.resolved.text("base");
    let roles = project.roles(base.as_deref(), Some(&directories.config))?;
    output::warnings(roles.left_out());
    match &arguments.command {
        AgentsCommand::List(format) => list(&roles, format.json),
        AgentsCommand::Show { name, json } => show(&roles, name, json.json),
    }
    .map(|()| 0)
}

fn list(roles: &Roles, as_json: bool) -> Result<(), CommandError> {
    if as_json {
        let all = roles.iter().map(|role| entry(role.0, role.1));
        return output::json(&Envelope::new(None, Output::Roles(all.collect())));
    }
    let mut text = String::new();
    for (name, found) in roles.iter() {
        let about = output::one_line(&found.role.description, 80);
        let origin = output::one_line(&origin(found), 200);
        text += &format!("{name:<14} {about}  ({origin})\n");
    }
    output::result(&text)
}

fn show(roles: &Roles, name: &str, as_json: bool) -> Result<(), CommandError> {
    let found = permissions::found(roles, name)?;
    if as_json {
        let role = Output::Role(Box::new(entry(name, found)));
        return output::json(&Envelope::new(None, role));
    }
    output::warnings(roles.warnings_of([name]));
    let role = &found.role;
    let tools = match &role.tools {
        Some(tools) => tools.join(", "),
        None => "all default tools".to_owned(),
    };
    let channels = match role.channels.as_deref() {
        None => "everybody".to_owned(),
        Some([]) => "nobody".to_owned(),
        Some(allowed) => output::joined(allowed.iter().map(Address::to_string)),
    };
    output::result(&format!(
        "{name}: {}\nfrom: {}\nmodel: {}\ntools: {tools}\npermissions: {}\nmessages to: \
         {channels}\n\n{}",
        role.description,
        origin(found),
        role.model.as_deref().unwrap_or("the run's model"),
        names(&role.granted()).join(", "),
        output::quoted(role.prompt.trim_end())
    ))
}

/// Returns a role's origin, with the roles of the same name that it takes precedence over.
fn origin(found: &FoundRole) -> String {
    match found.shadowed.as_slice() {
        [] => found.origin.clone(),
        shadowed => format!("{}; instead of {}", found.origin, shadowed.join(", ")),
    }
}

fn entry(name: &str, found: &FoundRole) -> ListedRole {
    let role = &found.role;
    ListedRole {
        name: name.to_owned(),
        description: role.description.clone(),
        origin: found.origin.clone(),
        shadowed: found.shadowed.clone(),
        model: role.model.clone(),
        fallback: role.fallback.clone(),
        tools: role.tools.clone(),
        permissions: names(&role.granted()),
        channels: role.channels.clone(),
        prompt: role.prompt.clone(),
        unknown: role.unknown.clone(),
        warnings: found.warnings.clone(),
    }
}

fn names(permissions: &[Permission]) -> Vec<String> {
    permissions.iter().map(ToString::to_string).collect()
}
