//! `check`: what a plan would run, without spending a token.

use std::path::Path;

use orchestrate_coordinator::Project;
use orchestrate_core::report::{EXIT_OK, EXIT_USAGE};

use crate::args::CheckArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::{output, plan_file};

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &CheckArgs) -> Result<u8, CommandError> {
    // A plan can be looked at outside of any repository.
    let project = Project::open(&context.directory, &context.directories()?.state).ok();
    let file = plan_file::open(context, &arguments.plan, Vec::new(), project.as_ref())?;
    file.roles.left_out().iter().for_each(|warning| output::warning(warning));
    let search = context.variables.get("PATH").cloned().unwrap_or_default();
    let report = file.check(&|program| is_found(&search, program));
    let open = report.tasks.iter().filter(|task| task.status.runs());
    let used = open.filter_map(|task| task.agent.as_deref());
    file.roles.warnings_of(used).iter().for_each(|warning| output::warning(warning));
    if arguments.json.json {
        output::json(&report)?;
    } else {
        output::result(&report.render())?;
    }
    Ok(if report.errors.is_empty() { EXIT_OK } else { EXIT_USAGE })
}

/// Tells whether a program is on the search path.
fn is_found(search: &str, program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    search.split(':').filter(|folder| !folder.is_empty()).any(|folder| {
        let metadata = std::fs::metadata(Path::new(folder).join(program));
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}
