//! `diff`: prints the changes on a task's branch, or of the whole result, as a patch.

use std::io::IsTerminal as _;

use orchestrate_core::projections::review::ReviewEntry;
use orchestrate_core::{RunState, TaskId};

use crate::args::DiffArgs;
use crate::commands::tasks::review::note_shown;
use crate::commands::tasks::{pager, patch};
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::json::{Envelope, Output, RunDiff, TaskDiff};
use crate::show::{output, table};

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &DiffArgs) -> Result<u8, CommandError> {
    let what = arguments.what.as_deref();
    let is_run = match what {
        Some(what) => arguments.which.run.is_none() && context.is_run(what)?,
        None => false,
    };
    let (store, run) =
        context.find_run(arguments.which.run.as_deref().or(what.filter(|_| is_run)))?;
    let state = store.state(&run)?;
    let Some(task) = what.filter(|_| !is_run) else {
        return whole(context, &state, arguments.json.json);
    };
    let task = task_of(&state, task)?;
    let runs = context.runs()?;
    let diff = runs.task_diff(&run, &task)?;
    note_shown(&runs, &state, &task);
    if arguments.json.json {
        let entries = runs.review(&run)?;
        let diff = Output::TaskDiff(of_task(&state, task, entries, diff));
        return output::json_exactly(&Envelope::new(Some(&run), diff)).map(|()| 0);
    }
    if diff.is_empty() {
        let mut text = format!("{task} has no committed changes");
        if let Some(record) = state.task(&task) {
            if let Some(commit) = record.left_unfinished() {
                text += &format!("\n{}", table::unfinished(&run, &task, commit).trim_end());
            } else if record.snapshot().is_some() {
                text += &format!("; `orchestrate recover {run}` lists its snapshots");
            }
        }
        output::note(&text);
    }
    print(context, &diff).map(|()| 0)
}

/// Prints all changes that a run has merged.
fn whole(context: &Context, state: &RunState, as_json: bool) -> Result<u8, CommandError> {
    let result = context.runs()?.result_diff(state)?;
    if as_json {
        let diff = Output::Diff(RunDiff {
            base_commit: state.base.clone(),
            integration_commit: state.integration.clone(),
            files: result.files,
            diff: result.text,
        });
        return output::json_exactly(&Envelope::new(Some(&state.run_id), diff)).map(|()| 0);
    }
    if result.text.is_empty() {
        output::note(&format!("run {} has merged no changes", state.run_id));
    }
    print(context, &result.text).map(|()| 0)
}

/// Prints a patch; a program gets it unchanged, so that it applies.
fn print(context: &Context, diff: &str) -> Result<(), CommandError> {
    if std::io::stdout().is_terminal() {
        pager::show(context, &patch::shown(diff, context.terminal.colour))
    } else {
        output::exactly(diff)
    }
}

/// Returns the changes of a task for programs; a task without a branch has none.
fn of_task(state: &RunState, task: TaskId, entries: Vec<ReviewEntry>, diff: String) -> TaskDiff {
    let attempt = state.task(&task).map_or(0, |record| record.attempt());
    match entries.into_iter().find(|entry| entry.task == task) {
        Some(entry) => TaskDiff {
            task,
            attempt,
            branch: Some(entry.branch),
            commit: entry.commit,
            tree: entry.tree,
            files: entry.files,
            diff,
        },
        None => TaskDiff {
            task,
            attempt,
            branch: None,
            commit: None,
            tree: None,
            files: Vec::new(),
            diff,
        },
    }
}
