//! `diff`: what a task's branch changes, as a patch.

use std::io::IsTerminal as _;

use clap::Args;

use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The task
    task: String,
    /// The run, or the beginning of its id [default: the latest of this repository]
    #[arg(long)]
    run: Option<String>,
}

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &DiffArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.run.as_deref())?;
    let task = task_of(&store.state(&run)?, &arguments.task)?;
    let diff = context.runs()?.task_diff(&run, &task)?;
    // A program gets the patch as it is, so that it applies.
    let text = if std::io::stdout().is_terminal() { output::plain(&diff) } else { diff };
    output::result(&text).map(|()| 0)
}
