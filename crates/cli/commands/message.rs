//! `message`: sends a message to an agent, which reads it between two turns.

use orchestrate_core::RequestRefused;
use orchestrate_core::request::Request;

use crate::args::MessageArgs;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::follow::inbox;
use crate::show::hints::next_step;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &MessageArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.run.as_deref())?;
    let state = store.state(&run)?;
    // What fits no task is refused below, with what to do.
    let agent = task_of(&state, &arguments.agent).map_or_else(|_| arguments.agent.clone(), |task| task.to_string());
    // Gives the same answer as the coordinator, without taking over a run in vain.
    state.check_message(&agent, &arguments.text).map_err(|refused| {
        let refused = RequestRefused::Message(refused);
        CommandError::usage(refused.to_string()).hint(next_step(&run, &refused))
    })?;
    let command = Request::Message { to: agent.as_str().into(), body: arguments.text.clone() };
    let format = if arguments.json.json { vec![("output_format", "json".to_owned())] } else { Vec::new() };
    inbox::ask_or_take_over(context, (&store, &run), &command, format)
}
