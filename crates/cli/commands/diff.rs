//! `diff`: what a task's branch changes, as a patch.

use std::io::IsTerminal as _;

use crate::args::DiffArgs;
use crate::commands::review::note_shown;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &DiffArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.run.as_deref())?;
    let state = store.state(&run)?;
    let task = task_of(&state, &arguments.task)?;
    let runs = context.runs()?;
    let diff = runs.task_diff(&run, &task)?;
    note_shown(&runs, &state, &task);
    if diff.is_empty() {
        let has_kept = state.task(&task).is_some_and(|record| record.snapshot.is_some());
        let kept = format!("; `orchestrate recover {run}` lists the files that were kept");
        output::note(&format!("no change of {task} is committed{}", if has_kept { kept.as_str() } else { "" }));
    }
    // A program gets the patch as it is, so that it applies.
    if std::io::stdout().is_terminal() { output::result(&diff) } else { output::bytes(&diff) }.map(|()| 0)
}
