//! A plan that is ready to be run: opened with its repository, and then followed to the end.

use orchestrate_coordinator::{
    Coordinator, PlanInput, Project, Settings, missing_programs, require_model, require_open_files,
    vendors_of,
};
use orchestrate_core::task::Work;
use orchestrate_plan::Plan;

use crate::commands::runs::{nothing_to_do, stay};
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::display::Style;
use crate::follow::run::Followed;
use crate::follow::{landing, run};
use crate::plan_file;
use crate::plan_file::{PlanFile, Typed};
use crate::plan_text::{Origin, PlanText};
use crate::show::{output, tool_files};

/// A plan or a goal, and the repository in which it is run.
pub(crate) struct Ready {
    pub(crate) project: Project,
    pub(crate) file: PlanFile,
    /// Whether the run stays open for people.
    pub(crate) stays: bool,
}

/// A document that an agent has rewritten as the plan that is run.
pub(crate) struct Rewriting {
    pub(crate) document: String,
    /// The plan, with the account of the document's lines.
    pub(crate) answer: String,
}

/// How the start of a run has ended.
pub(crate) enum Ended {
    /// There was nothing to do, which is said; the exit code.
    Idle(u8),
    /// The run was followed to its end.
    Followed(Box<Followed>),
}

impl Ready {
    /// Opens the repository and the plan, and offers the project's tools.
    pub(crate) fn open(
        context: &Context,
        text: PlanText,
        typed: Typed,
    ) -> Result<Self, CommandError> {
        let directories = context.directories()?;
        let project = Project::open(&context.directory, &directories.state)?.fetching(tell_fetch);
        project.require_ready()?;
        let mut file = plan_file::open(context, text.clone(), typed.clone(), Some(&project))?;
        if context.offer_tools(&project, &file.loaded)? {
            // The roles may list the tools that there are now.
            file = plan_file::open(context, text, typed, Some(&project))?;
        }
        Ok(Self {
            project,
            file,
            stays: false,
        })
    }

    /// Runs a plan to its end, lands its result if that is asked for, and prints its report.
    pub(crate) fn carry_out(mut self, context: &Context, plan: Plan) -> Result<u8, CommandError> {
        let ended = self.follow(context, plan, None)?;
        self.finish(context, ended)
    }

    /// Lands the result of a run if that is asked for, and prints its report.
    pub(crate) fn finish(&self, context: &Context, ended: Ended) -> Result<u8, CommandError> {
        match ended {
            Ended::Idle(code) => Ok(code),
            Ended::Followed(followed) => landing::finish(context, &self.file.loaded, *followed),
        }
    }

    /// Runs a plan to its end.
    pub(crate) fn follow(
        &mut self,
        context: &Context,
        plan: Plan,
        rewriting: Option<Rewriting>,
    ) -> Result<Ended, CommandError> {
        let Self {
            project,
            file,
            stays,
        } = self;
        let vendors =
            vendors_of(&file.loaded, &file.roles, &plan.tasks).map_err(CommandError::at_start)?;
        file.loaded.run.allowed_providers = Some(context.require_vendors(&vendors)?);
        let (loaded, roles) = (&file.loaded, &file.roles);
        // Even if no open task has the default role: a role that is asked for and does not exist is
        // always an error.
        roles.role(&loaded.run.agent)?;
        let style = run::style(&loaded.resolved, context.terminal);
        run::log(style);
        warn(context, file, &plan, project)?;
        if nothing_to_do::is_idle(&plan) {
            let base = project.base_commit(loaded.resolved.text("base").as_deref())?;
            return Ok(Ended::Idle(nothing_to_do::say(&plan, base, style)?));
        }
        context.require_consent(&context.commands(loaded)?)?;
        let not_run_lines = plan.skipped.clone();
        let path = file.source.place(context, project);
        let (text, rewritten) = match rewriting {
            Some(Rewriting { document, answer }) => (document, Some(answer)),
            // The text of a typed goal is that of its task.
            None if file.source.is_typed() => (String::new(), None),
            None => (file.source.text.clone(), None),
        };
        let coordinator_settings = Settings {
            stays_for_people: *stays,
            ..context.settings(loaded)?
        };
        let listener = stay::listener(context, *stays);
        // Before the runtime, which panics if no file descriptor is left.
        require_open_files(loaded.run.max_agents).map_err(CommandError::at_start)?;
        let runtime = run::runtime()?;
        let ended: Result<_, CommandError> = runtime.block_on(async {
            require_model(loaded, roles, &plan.tasks).await?;
            let coordinator = Coordinator::open(&context.directory, coordinator_settings)
                .map_err(CommandError::at_start)?;
            if !style.quiet {
                output::note(&run::tier(&coordinator, &loaded.switches_given));
            }
            require_programs(&coordinator, file, &plan, style).await?;
            let input = PlanInput {
                path,
                text,
                rewritten,
                title: plan.title,
                tasks: plan.tasks,
            };
            let run = coordinator.start(input).await;
            let run = run.map_err(CommandError::at_start)?;
            if !style.quiet {
                output::note(&format!("run {}", run.id()));
            }
            let followed = run::to_its_end(run, style, 0, listener);
            run::warning_of_programs(&coordinator, loaded, style, followed).await
        });
        // Tasks that a killed run left waiting must not keep the program running.
        runtime.shutdown_background();
        let mut followed = ended?;
        followed.not_run_lines = not_run_lines;
        Ok(Ended::Followed(Box::new(followed)))
    }
}

/// Says that what a partial clone lacks is fetched, which may take a while.
fn tell_fetch(files: usize) {
    let noun = if files == 1 { "file" } else { "files" };
    output::note(&format!(
        "fetching {files} {noun} that this partial clone lacks"
    ));
}

/// Fails if a check can only fail because its program is missing; otherwise an agent would be paid
/// to find that out.
async fn require_programs(
    coordinator: &Coordinator,
    file: &PlanFile,
    plan: &Plan,
    style: Style,
) -> Result<(), CommandError> {
    let missing = missing_programs(coordinator, plan, &file.roles, &file.loaded.run).await;
    let missing = missing.map_err(CommandError::at_start)?;
    for finding in missing.warnings.iter().filter(|_| !style.quiet) {
        output::warning(&format!("{}: {finding}", file.place(finding)));
    }
    match missing.errors.is_empty() {
        true => Ok(()),
        false => Err(file.refuse(missing.errors).hint("nothing was run")),
    }
}

/// Prints the warnings that the user should see before the run begins.
fn warn(
    context: &Context,
    file: &PlanFile,
    plan: &Plan,
    project: &Project,
) -> Result<(), CommandError> {
    let PlanFile { loaded, roles, .. } = file;
    if run::style(&loaded.resolved, context.terminal).quiet {
        return Ok(());
    }
    output::warnings(&loaded.resolved.warnings);
    output::warnings(plan.warnings.iter().map(ToString::to_string));
    let not_run = plan.not_run(&file.check_command());
    // What was rewritten was shown with what is not run of it.
    if let Some(said) = not_run.filter(|_| !matches!(file.source.origin, Origin::Made(_))) {
        output::note(&said);
    }
    let (base, of_user) = (loaded.resolved.text("base"), context.directories()?.config);
    output::warnings(project.warnings(base.as_deref())?);
    let without_effect = project.without_effect(base.as_deref(), Some(&of_user), &plan.tasks);
    output::warnings(without_effect.map_err(CommandError::at_start)?);
    tool_files::warn(&project.tools(base.as_deref(), Some(&of_user))?);
    output::warnings(roles.left_out());
    let open = plan.tasks.iter().filter(|task| task.status.runs());
    let used = open.filter_map(|task| match &task.work {
        Work::Agent(role) => Some(role.as_deref().unwrap_or(&loaded.run.agent)),
        Work::Run(_) => None,
    });
    output::warnings(roles.warnings_of(used.clone()));
    output::warnings(roles.taint_warnings_of(used, &loaded.run));
    Ok(())
}
