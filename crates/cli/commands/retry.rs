//! `retry`: gives a task that ended without success another attempt by the same agent.

use orchestrate_core::request::Request;

use crate::args::RetryArgs;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::follow::inbox;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &RetryArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.run.as_deref())?;
    let task = task_of(&store.state(&run)?, &arguments.task)?;
    let command = Request::Retry { task, message: arguments.message.clone() };
    inbox::ask_or_take_over(context, (&store, &run), &command, arguments.output.values())
}
