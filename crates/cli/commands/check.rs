//! `check`: shows what a plan would run, without spending a token.

use orchestrate_coordinator::{CoordinatorError, Project, may_find};
use orchestrate_core::report::{EXIT_OK, EXIT_USAGE};
use orchestrate_plan::{Finding, FindingCode, FirstWord};

use crate::args::CheckArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::plan_file;
use crate::show::output;
use crate::show::tool_files;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &CheckArgs) -> Result<u8, CommandError> {
    // A plan can be checked outside of any repository, and in one in which no run would start; the report says so.
    let (project, refused) = match Project::open(&context.directory, &context.directories()?.state) {
        Ok(found) => {
            let in_the_way = |project: &Project| {
                project.require_ready().err().or_else(|| {
                    let knows = project.has_identity(&context.variables);
                    (!knows).then_some(CoordinatorError::NoIdentity)
                })
            };
            let refused = in_the_way(&found);
            (Some(found), refused)
        }
        Err(refused) => (None, Some(refused)),
    };
    let typed = arguments.skip_optional.then(|| ("skip_optional", "true".to_owned())).into_iter().collect();
    let file = plan_file::open(context, &arguments.plan, typed, project.as_ref())?;
    file.roles.left_out().iter().for_each(|warning| output::warning(warning));
    let mut report = file.check(&|first| match first {
        FirstWord::Program(name) => may_find(name),
        FirstWord::File(path) => project.as_ref().is_none_or(|project| file.may_have(project, path)),
    })?;
    let base = file.loaded.resolved.text("base");
    let looked_at = project.as_ref().filter(|project| base.as_deref().is_none_or(|rev| project.has_revision(rev)));
    let of_user = context.directories()?.config;
    let texts = looked_at.map_or(Ok(Vec::new()), |project| project.without_effect(base.as_deref(), Some(&of_user)));
    match texts {
        Ok(without_effect) => {
            without_effect.iter().for_each(|warning| output::warning(warning));
            if let Some(project) = looked_at {
                tool_files::warn(&project.tools(base.as_deref(), Some(&of_user))?);
            }
        }
        // A repository that is refused as a whole cannot be read; that is reported below.
        Err(error) if refused.is_none() => report.errors.insert(0, would_be_refused(&error)),
        Err(_) => {}
    }
    let of_base = || project.as_ref()?.require_startable(file.loaded.resolved.text("base").as_deref()).err();
    report.errors.splice(0..0, refused.or_else(of_base).as_ref().map(would_be_refused));
    let open = report.tasks.iter().filter(|task| task.status.runs());
    let used = open.filter_map(|task| task.agent.as_deref());
    file.roles.warnings_of(used).iter().for_each(|warning| output::warning(warning));
    if arguments.json.json {
        output::json(&report)?;
    } else {
        output::result(&report.render())?;
        if report.is_goal() && report.errors.is_empty() {
            output::note("`run --plan-only` makes a plan of it first, for you to review");
        }
    }
    Ok(if report.errors.is_empty() { EXIT_OK } else { EXIT_USAGE })
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
