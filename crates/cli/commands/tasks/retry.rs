//! `retry`: gives tasks that ended without success another attempt by the same agents.

use orchestrate_core::RunState;
use orchestrate_core::run::request::Request;

use crate::args::{RetryArgs, Retrying};
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::follow::inbox::{self, Sending};

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &RetryArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let request = request(&store.state(&run)?, &arguments.retrying)?;
    let sending = Sending::new(true, &arguments.output.values());
    inbox::send(context, &store, &run, &request, &sending)
}

/// Returns the request that retries a task, or all that failed.
pub(crate) fn request(state: &RunState, retrying: &Retrying) -> Result<Request, CommandError> {
    let message = retrying.message.clone();
    match &retrying.task {
        // The command line excludes this; a line of JSON may have both.
        Some(_) if retrying.failed => Err(CommandError::usage(
            "a retry is of one task or of all that failed, not of both",
        )),
        Some(task) => Ok(Request::Retry {
            task: task_of(state, task)?,
            message,
        }),
        None if retrying.failed => Ok(Request::RetryFailed { message }),
        None => Err(CommandError::usage(
            "a retry needs the id of a task, or `failed` for all that failed",
        )),
    }
}
