//! `check`: what a plan would run, without spending a token.

use std::path::Path;

use orchestrate_coordinator::settings::Layer;
use orchestrate_coordinator::{Project, Roles, known_names};
use orchestrate_core::plan::{self, KnownNames};
use orchestrate_core::report::{EXIT_OK, EXIT_USAGE};

use crate::args::CheckArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::{output, plan_file};

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &CheckArgs) -> Result<u8, CommandError> {
    let text = plan_file::read(context, &arguments.plan)?;
    let shown = arguments.plan.display().to_string();
    let known = known(context)?;
    let search = context.variables.get("PATH").cloned().unwrap_or_default();
    let report = plan::check(&shown, &text, &known, &|program| is_found(&search, program));
    if arguments.json.json {
        output::json(&report)?;
    } else {
        output::result(&output::plain(&report.render()))?;
    }
    Ok(if report.errors.is_empty() { EXIT_OK } else { EXIT_USAGE })
}

/// Gives the roles of the project, or those that are always there where there is no project.
fn known(context: &Context) -> Result<KnownNames, CommandError> {
    let loaded = context.load(Vec::new(), Layer::default())?;
    let directories = context.directories()?;
    let of_user = Some(directories.config.as_path());
    let roles = match Project::open(&context.directory, &directories.state) {
        Ok(project) => project.roles(loaded.resolved.text("base").as_deref(), of_user)?,
        Err(_) => Roles::without_project(of_user)?,
    };
    Ok(known_names(&roles, loaded.resolved.text("base_url").is_some()))
}

/// Tells whether a program is on the search path.
fn is_found(search: &str, program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    search.split(':').filter(|folder| !folder.is_empty()).any(|folder| {
        let metadata = std::fs::metadata(Path::new(folder).join(program));
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}
