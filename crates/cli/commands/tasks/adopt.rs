//! `adopt`: makes what the user has changed in a task's worktree and on its branch the task's work,
//! as the user's own commit.

use orchestrate_core::run::request::{Adoption, Request};

use crate::args::AdoptArgs;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::follow::inbox;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &AdoptArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let state = store.state(&run)?;
    let task = task_of(&state, &arguments.task)?;
    let adoption = match state.require_adoptable(&task) {
        Ok(()) => context
            .runs()?
            .adopt(&run, &task, arguments.message.as_deref())?,
        // Refused before anything is committed, by the process that works on the run.
        Err(_) => {
            let tip = state
                .task(&task)
                .and_then(|record| record.tip().cloned())
                .unwrap_or_else(|| state.base.clone());
            Adoption {
                task,
                commit: tip.clone(),
                tree: tip.clone(),
                tip,
                part: None,
            }
        }
    };
    inbox::ask_or_take_over(
        context,
        &store,
        &run,
        &Request::Adopt(adoption),
        arguments.output.values(),
    )
}
