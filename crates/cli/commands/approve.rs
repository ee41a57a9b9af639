//! `approve`: lets a task's work be merged as it was seen, or a parked tool call run.

use orchestrate_core::Oid;
use orchestrate_journal::Command;

use crate::args::ApproveArgs;
use crate::context::{Context, Subject, subject_of};
use crate::error::CommandError;
use crate::inbox;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &ApproveArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.run.as_deref())?;
    let state = store.state(&run)?;
    let command = match subject_of(&state, &arguments.what)? {
        Subject::Call(call) => Command::Decide { call, allowed: true, message: None },
        Subject::Task(task) => {
            let tree = state.task(&task).and_then(|record| record.tree.clone());
            let tree =
                tree.ok_or_else(|| CommandError::usage(format!("task {task} has no finished work to approve")))?;
            let tree = match &arguments.tree {
                Some(typed) if tree.as_str().starts_with(typed.as_str()) => tree,
                Some(typed) => Oid::from(typed.as_str()),
                None => context.runs()?.shown(&run, &task)?.unwrap_or(tree),
            };
            Command::Approve { task, tree }
        }
    };
    inbox::ask_or_take_over(context, (&store, &run), &command, arguments.output.values())
}
