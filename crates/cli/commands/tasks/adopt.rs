//! `adopt`: makes what the user has changed in a task's worktree and on its branch the task's work,
//! as the user's own commit.

use orchestrate_core::RunState;
use orchestrate_core::run::request::{Adoption, Request};

use crate::args::{Adopting, RequestArgs};
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::follow::inbox::{self, Sending};

/// Runs the command.
pub(crate) fn execute(
    context: &Context,
    arguments: &RequestArgs<Adopting>,
) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let request = request(context, &store.state(&run)?, &arguments.what)?;
    let sending = Sending::new(arguments.follow.follow, &arguments.output.values());
    inbox::send(context, &store, &run, &request, &sending)
}

/// Returns the request that makes the user's own changes the work of a task, once they are a
/// commit.
pub(crate) fn request(
    context: &Context,
    state: &RunState,
    adopting: &Adopting,
) -> Result<Request, CommandError> {
    let task = task_of(state, &adopting.task)?;
    if state.require_adoptable(&task).is_ok() {
        let (runs, message) = (context.runs()?, adopting.message.as_deref());
        return Ok(Request::Adopt(runs.adopt(&state.run_id, &task, message)?));
    }
    // Refused before anything is committed, with the reason.
    let tip = state
        .task(&task)
        .and_then(|record| record.tip().cloned())
        .unwrap_or_else(|| state.base.clone());
    Ok(Request::Adopt(Adoption {
        task,
        commit: tip.clone(),
        tree: tip.clone(),
        tip,
        part: None,
    }))
}
