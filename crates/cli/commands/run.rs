//! `run`: runs a plan.

use orchestrate_coordinator::settings::Loaded;
use orchestrate_coordinator::{Coordinator, PlanInput, Project, require_model, settings_of};
use orchestrate_core::plan::Plan;
use orchestrate_core::report::EXIT_OK;

use crate::args::RunArgs;
use crate::commands::land;
use crate::context::Context;
use crate::display::Style;
use crate::error::CommandError;
use crate::{follow, output, plan_file};

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &RunArgs) -> Result<u8, CommandError> {
    let typed: Vec<_> = arguments.settings.values().into_iter().chain(arguments.output.values()).collect();
    let directories = context.directories()?;
    let project = Project::open(&context.directory, &directories.state)?;
    project.require_ready()?;
    let file = plan_file::open(context, &arguments.plan, typed, Some(&project))?;
    let plan = file.plan()?;
    let plan_file::PlanFile { shown, text, loaded, roles, .. } = file;
    let style = follow::style(&loaded.resolved, context.terminal);
    follow::log(style);
    warn(&loaded, &plan, &project, style)?;
    context.require_consent(&loaded.commands)?;
    let input = PlanInput { path: Some(shown), text, title: plan.title.clone(), tasks: plan.tasks };
    let coordinator_settings = settings_of(&loaded, &directories);
    let runtime = follow::runtime()?;
    let ended: Result<_, CommandError> = runtime.block_on(async {
        require_model(&loaded, &roles, &input.tasks).await?;
        let coordinator =
            Coordinator::open(&context.directory, coordinator_settings).map_err(CommandError::at_start)?;
        if !style.quiet {
            output::note(&format!("commands run in this tier: {}", coordinator.confinement()));
        }
        let run = coordinator.start(input).await.map_err(CommandError::at_start)?;
        if !style.quiet {
            output::note(&format!("run {}", run.id()));
        }
        let id = run.id().clone();
        follow::follow(run, style, 0).await.map(|code| (id, code))
    });
    // What a killed run left waiting must not keep the program.
    runtime.shutdown_background();
    let (run, code) = ended?;
    if code == EXIT_OK && loaded.resolved.is_on("land") {
        let landed = land::bring(context, &loaded, &run)?;
        landed.warnings.iter().for_each(|warning| output::warning(warning));
        output::note(land::words(&landed, false).trim_end());
    }
    Ok(code)
}

/// Says what the user should know before the run begins.
fn warn(loaded: &Loaded, plan: &Plan, project: &Project, style: Style) -> Result<(), CommandError> {
    if style.quiet {
        return Ok(());
    }
    loaded.resolved.warnings.iter().for_each(|warning| output::warning(warning));
    plan.warnings.iter().for_each(|warning| output::warning(&warning.to_string()));
    project.warnings()?.iter().for_each(|warning| output::warning(warning));
    Ok(())
}
