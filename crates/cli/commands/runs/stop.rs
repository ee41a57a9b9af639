//! `stop`: asks the coordinator of a run to end; its state is kept.

use orchestrate_core::RunId;
use orchestrate_core::event::RunStatus;
use orchestrate_core::run::request::{Holder, Purpose, Request, StopLevel};

use crate::args::{StopArgs, Stopping};
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::inbox;
use crate::json::{Answer, Envelope, Output, Stage};
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &StopArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let holder = store.lease(&run)?;
    if let Some(Holder {
        pid,
        purpose: Purpose::Land,
        ..
    }) = holder
    {
        return Err(is_landing(&run, pid));
    }
    if holder.is_none() {
        let said = match store.state(&run)?.status {
            RunStatus::Running => {
                format!("no process works on it; `orchestrate resume {run}` continues it")
            }
            RunStatus::Interrupted => {
                format!("it is stopped already; `orchestrate resume {run}` continues it")
            }
            _ => "it has ended".to_owned(),
        };
        return if arguments.json.json {
            let answer = Output::Answer(Answer {
                stage: Stage::Done,
                answer: said,
            });
            output::json(&Envelope::new(Some(&run), answer))
        } else {
            output::line(&format!("run {run}: {said}"))
        }
        .map(|()| 0);
    }
    let request = request(&arguments.stopping, holder)?;
    inbox::ask(&store, &run, &request, arguments.json.json)
}

/// Returns the request that stops the process which works on a run.
pub(crate) fn request(
    stopping: &Stopping,
    holder: Option<Holder>,
) -> Result<Request, CommandError> {
    let level = match (stopping.drain, stopping.kill) {
        // The command line excludes this; a line of JSON may have both.
        (true, true) => {
            let message = "a run is stopped with `drain` or with `kill`, not with both";
            return Err(CommandError::usage(message));
        }
        (true, false) => StopLevel::Drain,
        (false, true) => StopLevel::Kill,
        (false, false) => StopLevel::Stop,
    };
    Ok(Request::Stop { level, holder })
}

/// Returns the error of a run that is landing, which takes no requests, with how to stop that.
fn is_landing(run: &RunId, pid: u32) -> CommandError {
    CommandError::usage(format!(
        "run {run} has ended, and process {pid} is landing it"
    ))
    .hint(format!(
        "`kill {pid}` stops a landing that has not moved anything yet; one that has completes \
         first, and `orchestrate land --undo {run}` undoes it"
    ))
}
