//! What a shell offers for an argument: the runs, tasks and roles of the repository around the
//! current directory.
//!
//! A shell asks at the press of a key, so only what is stored is read. Where there is nothing, or
//! it cannot be read, nothing is offered: an error would be drawn into the line that is typed.

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate, ValueCandidates};
use orchestrate_coordinator::Project;
use orchestrate_core::RunState;
use orchestrate_journal::Store;

use crate::context::Context;
use crate::error::CommandError;
use crate::show::output;

/// The width of what is shown beside a name.
const HELP_WIDTH: usize = 60;

/// What is offered for an argument.
struct Offer(&'static [Read]);

type Read = fn(&Context) -> Result<Vec<CompletionCandidate>, CommandError>;

/// Offers the runs.
pub(super) fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(Offer(&[read_runs]))
}

/// Offers the tasks of the latest run.
pub(super) fn tasks() -> ArgValueCandidates {
    ArgValueCandidates::new(Offer(&[read_tasks]))
}

/// Offers the tasks of the latest run, and the runs.
pub(super) fn tasks_and_runs() -> ArgValueCandidates {
    ArgValueCandidates::new(Offer(&[read_tasks, read_runs]))
}

/// Offers the tasks of the latest run, and the tool calls that wait for a decision.
pub(super) fn tasks_and_calls() -> ArgValueCandidates {
    ArgValueCandidates::new(Offer(&[read_tasks, read_calls]))
}

/// Offers the tasks of the latest run, and the groups that a message can go to.
pub(super) fn recipients() -> ArgValueCandidates {
    ArgValueCandidates::new(Offer(&[read_tasks, read_groups]))
}

/// Offers the roles.
pub(super) fn roles() -> ArgValueCandidates {
    ArgValueCandidates::new(Offer(&[read_roles]))
}

impl ValueCandidates for Offer {
    fn candidates(&self) -> Vec<CompletionCandidate> {
        let mut all = Vec::new();
        if let Ok(context) = Context::of_process() {
            let read = self.0.iter().flat_map(|read| read(&context));
            all.extend(read.flatten().filter(is_plain));
        }
        all
    }
}

/// Reports whether a shell takes the name as it is: it puts what is chosen into the line unquoted,
/// and others have written the plan.
fn is_plain(candidate: &CompletionCandidate) -> bool {
    let name = candidate.get_value().as_encoded_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/:@+".contains(byte);
    !name.starts_with(b"-") && name.iter().all(is_word)
}

fn candidate(name: &str, about: &str) -> CompletionCandidate {
    let about = output::one_line(about, HELP_WIDTH);
    CompletionCandidate::new(name).help(Some(about.into()))
}

fn project(context: &Context) -> Result<Project, CommandError> {
    let state = context.directories()?.state;
    Ok(Project::open(&context.directory, &state)?)
}

fn read_runs(context: &Context) -> Result<Vec<CompletionCandidate>, CommandError> {
    let Some(store) = project(context)?.store()? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for run in store.runs()? {
        let about = run.title.or(run.plan);
        let name = run.run_id.as_str();
        found.push(candidate(name, about.as_deref().unwrap_or("a run")));
    }
    Ok(found)
}

fn read_tasks(context: &Context) -> Result<Vec<CompletionCandidate>, CommandError> {
    let Some(state) = latest_run(project(context)?.store()?)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for record in state.tasks() {
        found.push(candidate(record.task.id.as_str(), &record.task.title));
    }
    Ok(found)
}

fn read_calls(context: &Context) -> Result<Vec<CompletionCandidate>, CommandError> {
    let Some(state) = latest_run(project(context)?.store()?)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (call, asked) in state.open_approvals() {
        let about = format!("{} of {}", asked.tool, asked.task);
        found.push(candidate(call.as_str(), &about));
    }
    Ok(found)
}

fn latest_run(store: Option<Store>) -> Result<Option<RunState>, CommandError> {
    let Some(store) = store else {
        return Ok(None);
    };
    match store.latest_run()? {
        Some(run) => Ok(Some(store.state(&run)?)),
        None => Ok(None),
    }
}

fn read_groups(context: &Context) -> Result<Vec<CompletionCandidate>, CommandError> {
    let mut found = vec![
        candidate("all", "every agent"),
        candidate("children", "the agents of the plan's tasks"),
    ];
    for role in read_roles(context)? {
        found.push(role.add_prefix("role:"));
    }
    Ok(found)
}

fn read_roles(context: &Context) -> Result<Vec<CompletionCandidate>, CommandError> {
    let config = context.directories()?.config;
    let roles = project(context)?.roles(None, Some(&config))?;
    let mut found = Vec::new();
    for (name, shown) in roles.iter() {
        found.push(candidate(name, &shown.role.description));
    }
    Ok(found)
}
