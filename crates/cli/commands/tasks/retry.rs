//! `retry`: gives tasks that ended without success another attempt by the same agents.

use orchestrate_core::run::request::Request;

use crate::args::RetryArgs;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::follow::inbox;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &RetryArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let message = arguments.message.clone();
    let command = match &arguments.task {
        Some(task) => Request::Retry {
            task: task_of(&store.state(&run)?, task)?,
            message,
        },
        None => Request::RetryFailed { message },
    };
    inbox::ask_or_take_over(context, &store, &run, &command, arguments.output.values())
}
