//! `reject`: returns a task's work to its agent with a comment, even after a merge; or denies a
//! parked call.

use orchestrate_core::RunState;
use orchestrate_core::run::request::Request;

use crate::args::{FileLine, Rejection, RequestArgs};
use crate::context::{Context, Subject, subject_of};
use crate::error::CommandError;
use crate::follow::inbox::{self, Sending};

/// Runs the command.
pub(crate) fn execute(
    context: &Context,
    arguments: &RequestArgs<Rejection>,
) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let request = request(context, &store.state(&run)?, &arguments.what)?;
    let sending = Sending::new(arguments.follow.follow, &arguments.output.values());
    inbox::send(context, &store, &run, &request, &sending)
}

/// Returns the request that rejects a task's work or a parked call.
pub(crate) fn request(
    context: &Context,
    state: &RunState,
    rejection: &Rejection,
) -> Result<Request, CommandError> {
    let (message, at) = (rejection.message.clone(), rejection.at.as_ref());
    match subject_of(state, rejection.target()?)? {
        Subject::Task(task) => {
            if let Some(FileLine { file, line }) = at {
                let runs = context.runs()?;
                runs.require_place(&state.run_id, &task, file, *line)?;
            }
            Ok(Request::Reject {
                task,
                message,
                at: at.map(ToString::to_string),
            })
        }
        Subject::Call(_) if at.is_some() => Err(CommandError::usage(format!(
            "{} applies to a task's work, not to a call",
            rejection.wording.argument("at")
        ))),
        Subject::Call(call) => Ok(Request::Decide {
            call,
            allowed: false,
            message: Some(message),
        }),
    }
}
