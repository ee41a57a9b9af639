//! `reject`: returns a task's work to its agent with a comment, even after a merge; or denies a
//! parked call.

use orchestrate_core::run::request::Request;

use crate::args::{FileLine, RejectArgs};
use crate::context::{Context, Subject, subject_of};
use crate::error::CommandError;
use crate::follow::inbox;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &RejectArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let (message, at) = (arguments.message.clone(), arguments.at.as_ref());
    let command = match subject_of(&store.state(&run)?, &arguments.what)? {
        Subject::Task(task) => {
            if let Some(FileLine { file, line }) = at {
                context.runs()?.require_place(&run, &task, file, *line)?;
            }
            Request::Reject {
                task,
                message,
                at: at.map(ToString::to_string),
            }
        }
        Subject::Call(_) if at.is_some() => {
            return Err(CommandError::usage(
                "--at applies to a task's work, not to a call",
            ));
        }
        Subject::Call(call) => Request::Decide {
            call,
            allowed: false,
            message: Some(message),
        },
    };
    inbox::ask_or_take_over(context, &store, &run, &command, arguments.output.values())
}
