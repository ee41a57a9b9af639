//! `diff`: prints the changes on a task's branch, or of the whole result, as a patch.

use std::io::IsTerminal as _;

use orchestrate_core::projections::review::ReviewEntry;
use orchestrate_core::{RunId, RunState, TaskId};
use serde_json::{Value, json};

use crate::args::DiffArgs;
use crate::commands::tasks::pager;
use crate::commands::tasks::patch;
use crate::commands::tasks::review::note_shown;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::show::output;

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
        return output::json_exactly(&object(&run, &state, &task, &entries, &diff)).map(|()| 0);
    }
    if diff.is_empty() {
        let has_kept = state
            .task(&task)
            .is_some_and(|record| record.snapshot().is_some());
        let kept = format!("; `orchestrate recover {run}` lists its snapshots");
        output::note(&format!(
            "{task} has no committed changes{}",
            if has_kept { kept.as_str() } else { "" }
        ));
    }
    print(context, &diff).map(|()| 0)
}

/// Prints all changes that a run has merged.
fn whole(context: &Context, state: &RunState, as_json: bool) -> Result<u8, CommandError> {
    let result = context.runs()?.result_diff(state)?;
    if as_json {
        let object = json!({
            "run_id": state.run_id,
            "base": state.base,
            "commit": state.integration,
            "files": result.files,
            "diff": result.text,
        });
        return output::json_exactly(&object).map(|()| 0);
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

/// Returns the JSON object; a task without a branch has no changes.
fn object(
    run: &RunId,
    state: &RunState,
    task: &TaskId,
    entries: &[ReviewEntry],
    diff: &str,
) -> Value {
    let entry = entries.iter().find(|entry| entry.task == *task);
    let record = state.task(task);
    json!({
        "run_id": run,
        "task": task,
        "attempt": record.map_or(0, |record| record.attempt()),
        "branch": entry.map(|entry| &entry.branch),
        "commit": entry.and_then(|entry| entry.commit.as_ref()),
        "tree": entry.and_then(|entry| entry.tree.as_ref()),
        "files": entry.map_or(&[][..], |entry| &entry.files),
        "diff": diff,
    })
}
