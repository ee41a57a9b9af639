//! `diff`: prints the changes on a task's branch as a patch.

use std::io::IsTerminal as _;

use orchestrate_core::review::ReviewEntry;
use orchestrate_core::{RunId, RunState, TaskId};
use serde_json::{Value, json};

use crate::args::DiffArgs;
use crate::commands::review::note_shown;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::show::output;
use crate::show::pager;
use crate::show::patch;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &DiffArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.run.as_deref())?;
    let state = store.state(&run)?;
    let task = task_of(&state, &arguments.task)?;
    let runs = context.runs()?;
    let diff = runs.task_diff(&run, &task)?;
    note_shown(&runs, &state, &task);
    if arguments.json.json {
        let entries = runs.review(&run)?;
        return output::json_exactly(&object((&run, &state), &task, &entries, &diff)).map(|()| 0);
    }
    if diff.is_empty() {
        let has_kept = state.task(&task).is_some_and(|record| record.snapshot().is_some());
        let kept = format!("; `orchestrate recover {run}` lists its snapshots");
        output::note(&format!("{task} has no committed changes{}", if has_kept { kept.as_str() } else { "" }));
    }
    if std::io::stdout().is_terminal() {
        pager::show(context, &patch::shown(&diff, context.terminal.colour))?;
    } else {
        // A program gets the patch unchanged, so that it applies.
        output::exactly(&diff)?;
    }
    Ok(0)
}

/// Returns the JSON object; a task without a branch has no changes.
fn object((run, state): (&RunId, &RunState), task: &TaskId, entries: &[ReviewEntry], diff: &str) -> Value {
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
