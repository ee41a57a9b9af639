//! `check`: shows what a plan would run, without spending a token.

use orchestrate_coordinator::{
    CoordinatorError, MapError, MapFor, NoMap, Project, SearchService, UnaskedVendor, makes_maps,
    may_find, require_confinement, settings_of, vendors_of,
};
use orchestrate_core::run::{EXIT_OK, EXIT_USAGE};
use orchestrate_core::task::Work;
use orchestrate_plan::{Finding, FindingCode, FirstWord, Plan, ReadAs};
use orchestrate_settings::consent::ProjectCommand;

use crate::args::{CheckArgs, ReadArgs, ReadWay};
use crate::context::Context;
use crate::error::CommandError;
use crate::json::{Envelope, Output, RunMap};
use crate::plan_file::{self, PlanFile, Typed};
use crate::plan_text::PlanText;
use crate::show::{output, tool_files};

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &CheckArgs) -> Result<u8, CommandError> {
    // A plan can be checked outside of any repository, and in one in which no run would start; the
    // report says so.
    let state = context.directories()?.state;
    let (project, refused) = match Project::open(&context.directory, &state) {
        Ok(found) => {
            let refused = match found.require_ready() {
                Ok(()) if found.has_identity(&context.variables) => None,
                Ok(()) => Some(CoordinatorError::NoIdentity),
                Err(refused) => Some(refused),
            };
            (Some(found), refused)
        }
        Err(refused) => (None, Some(refused)),
    };
    let text = PlanText::read(context, &arguments.plan)?;
    text.require_format()?;
    let skipped = arguments.skip_optional;
    let typed = Typed {
        settings: skipped
            .then(|| ("skip_optional", "true".to_owned()))
            .into_iter()
            .collect(),
        read: way(&arguments.reading, &text)?,
        tag: arguments.reading.tag.clone(),
    };
    let file = plan_file::open(context, text, typed, project.as_ref())?;
    output::warnings(file.roles.left_out());
    if let Some(task) = &arguments.map {
        let project = project.as_ref().ok_or(refused);
        return map(context, &file, project, task, arguments.json.json);
    }
    let mut report = file.check(&|first| match first {
        FirstWord::Program(name) => may_find(name),
        FirstWord::File(path) => project
            .as_ref()
            .is_none_or(|project| file.may_have(project, path)),
    })?;
    let base = file.loaded.resolved.text("base");
    let looked_at = project
        .as_ref()
        .filter(|project| base.as_deref().is_none_or(|rev| project.has_revision(rev)));
    let of_user = context.directories()?.config;
    let tasks = file.plan().map(|plan| plan.tasks).unwrap_or_default();
    let without_effect =
        |project: &Project| project.without_effect(base.as_deref(), Some(&of_user), &tasks);
    match looked_at.map_or(Ok(Vec::new()), without_effect) {
        Ok(without_effect) => {
            output::warnings(without_effect);
            if let Some(project) = looked_at {
                tool_files::warn(&project.tools(base.as_deref(), Some(&of_user))?);
            }
        }
        // A repository that is refused as a whole cannot be read; that is reported below.
        Err(error) if refused.is_none() => report.errors.insert(0, would_be_refused(&error)),
        Err(_) => {}
    }
    let of_base = || project.as_ref()?.require_startable(base.as_deref()).err();
    let refused = refused.or_else(of_base);
    report
        .errors
        .splice(0..0, refused.as_ref().map(would_be_refused));
    if file.loaded.switches.strict_sandbox {
        let tier = require_confinement(&settings_of(&file.loaded, &context.directories()?)).err();
        let finding = |error| Finding {
            code: FindingCode::SandboxRefused,
            ..would_be_refused(&error)
        };
        report.errors.splice(0..0, tier.map(finding));
    }
    let open = report.tasks.iter().filter(|task| task.status.runs());
    let used: Vec<&str> = open.filter_map(|task| task.agent.as_deref()).collect();
    output::warnings(file.roles.warnings_of(used.iter().copied()));
    output::warnings(file.roles.taint_warnings_of(used, &file.loaded.run));
    show_hooks(context, &file)?;
    if let Ok(plan) = file.plan() {
        searches(&file, &plan);
        warn_of_vendors(context, &file, &plan)?;
    }
    if !makes_maps() && file.loaded.run.map_tokens > 0 {
        let why = NoMap::NotBuilt;
        output::warning(&format!("agents get no map of the repository: {why}"));
    }
    let exit_code = match report.errors.is_empty() {
        true => EXIT_OK,
        false => EXIT_USAGE,
    };
    if arguments.json.json {
        output::json(&Envelope::new(None, Output::Check(Box::new(report))))?;
        return Ok(exit_code);
    }
    output::result(&report.render())?;
    if !report.readings.is_empty() {
        output::note(plan_file::CHOOSE.trim_start_matches("; "));
    }
    if report.is_goal() && report.errors.is_empty() {
        output::note("`orchestrate plan` makes a plan of it first, for you to review");
    }
    Ok(exit_code)
}

/// Returns the way in which the plan is read; fails if only a model can read it so, since a check
/// calls none.
fn way(reading: &ReadArgs, text: &PlanText) -> Result<Option<ReadAs>, CommandError> {
    if reading.is_any() {
        text.require_document()?;
    }
    match text.way(reading.read) {
        None => Ok(None),
        Some(ReadWay::As(way)) => Ok(Some(way)),
        Some(ReadWay::Model) => {
            let document = text.argument();
            let hint = format!(
                "`orchestrate plan {document} -o made.md` has a model rewrite it; then type \
                 `orchestrate check made.md`"
            );
            Err(CommandError::usage("a check calls no model").hint(hint))
        }
    }
}

/// Says which hooks a run would ask, and which of them lack the user's consent.
fn show_hooks(context: &Context, file: &PlanFile) -> Result<(), CommandError> {
    for hook in &file.loaded.run.hooks {
        output::note(&hook.to_string());
    }
    let is_hook = |command: &&ProjectCommand| command.key.starts_with("hooks.");
    let mut of_project = file.loaded.commands.iter().filter(is_hook).peekable();
    if of_project.peek().is_none() {
        return Ok(());
    }
    let consents = context.consents()?;
    for command in of_project.filter(|command| !consents.covers(command)) {
        output::warning(&format!(
            "{}: the project's hook needs your consent; inspect it, then type `orchestrate config \
             trust`",
            command.place
        ));
    }
    Ok(())
}

/// Says which services the agents of a plan search the web with.
fn searches(file: &PlanFile, plan: &Plan) {
    for service in SearchService::of_tasks(&file.loaded, &file.roles, &plan.tasks) {
        match service.told() {
            (text, true) => output::warning(&text),
            (text, false) => output::note(&text),
        }
    }
}

/// Says which providers `run` asks about, or refuses where nobody can be asked.
fn warn_of_vendors(context: &Context, file: &PlanFile, plan: &Plan) -> Result<(), CommandError> {
    let vendors = match vendors_of(&file.loaded, &file.roles, &plan.tasks) {
        Ok(vendors) => vendors,
        Err(error) => {
            output::warning(&format!("a run would fail to {error}"));
            return Ok(());
        }
    };
    for UnaskedVendor {
        vendor,
        model,
        place,
    } in context.without_consent(&vendors)?
    {
        output::warning(&format!(
            "{place} chooses {model}, whose provider `{name}` (at {}) needs your consent; \
             `orchestrate config trust --provider {name}` gives it in this repository",
            vendor.endpoint,
            name = vendor.provider
        ));
    }
    Ok(())
}

/// Prints the map of the repository that the agent of a task would get.
fn map(
    context: &Context,
    file: &PlanFile,
    project: Result<&Project, Option<CoordinatorError>>,
    task: &str,
    is_json: bool,
) -> Result<u8, CommandError> {
    let project = project.map_err(|refused| match refused {
        Some(refused) => CommandError::from(refused),
        None => CommandError::usage("there is no repository here"),
    })?;
    let plan = file.plan()?;
    let Some(task) = plan.tasks.iter().find(|known| known.id.as_str() == task) else {
        let error = CommandError::usage(format!("the plan has no task `{task}`"));
        let known = plan.tasks.iter().map(|task| task.id.as_str());
        return Err(error.did_you_mean(task, known, "without `--map`, `check` lists the tasks"));
    };
    let Work::Agent(role) = &task.work else {
        let message = format!("{} is a command, which gets no map", task.id);
        return Err(CommandError::usage(message));
    };
    let settings = &file.loaded.run;
    let role = file
        .roles
        .role(role.as_deref().unwrap_or(&settings.agent))?;
    let base = file.loaded.resolved.text("base");
    let of_user = context.directories()?.config;
    let wanted = MapFor { task, role };
    match project.map(base.as_deref(), Some(&of_user), settings, wanted) {
        Ok(map) if is_json => say_map(map.tokens, Some(map.map), None)?,
        Ok(map) => {
            output::result(&map.map)?;
            output::note(&format!("{} tokens", map.tokens));
        }
        Err(MapError::Failed(error)) => return Err(error.into()),
        Err(MapError::None(none)) if is_json => say_map(0, None, Some(none.to_string()))?,
        Err(MapError::None(none)) => output::note(&format!("{} gets no map: {none}", task.id)),
    }
    Ok(EXIT_OK)
}

/// Prints a map, or why there is none, as JSON.
fn say_map(tokens: usize, map: Option<String>, reason: Option<String>) -> Result<(), CommandError> {
    let map = RunMap {
        tokens,
        map,
        reason,
    };
    output::json(&Envelope::new(None, Output::Map(map)))
}

/// Returns the finding that no run would start in the repository.
fn would_be_refused(error: &CoordinatorError) -> Finding {
    Finding {
        line: 0,
        column: 0,
        code: FindingCode::RepositoryRefused,
        message: format!("a run would fail to {error}"),
        text: String::new(),
        suggestion: None,
    }
}
