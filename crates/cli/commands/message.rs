//! `message`: sends a message to agents, which read it between two turns, or answers the question of one.

use orchestrate_core::request::Request;
use orchestrate_core::{Address, Body, RunState, TaskRecord};
use serde_json::Value;

use crate::args::MessageArgs;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::follow::inbox;
use crate::show::hints::next_step;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &MessageArgs) -> Result<u8, CommandError> {
    let MessageArgs { kind, reply_to, deadline, .. } = *arguments;
    let (store, run) = context.find_run(arguments.run.as_deref())?;
    let state = store.state(&run)?;
    let (to, body) = (address(&state, &arguments.to)?, body(arguments)?);
    let request = Request::Message { to, body, kind, reply_to, deadline_seconds: deadline };
    // The same answer as the coordinator's, without taking over a run in vain.
    state
        .decide(&request)
        .map_err(|refused| CommandError::usage(refused.to_string()).hint(next_step(&run, &refused)))?;
    let format = if arguments.json.json { vec![("output_format", "json".to_owned())] } else { Vec::new() };
    inbox::ask_or_take_over(context, (&store, &run), &request, format)
}

/// Returns the typed address; the beginning of a task's id is enough.
fn address(state: &RunState, typed: &str) -> Result<Address, CommandError> {
    let Address::Agent(agent) = Address::from(typed) else { return Ok(Address::from(typed)) };
    let begins = |record: &TaskRecord| record.task.id.as_str().starts_with(agent.as_str());
    match task_of(state, agent.as_str()) {
        Ok(task) => Ok(Address::Agent(task)),
        // It fits several tasks.
        Err(error) if !agent.as_str().is_empty() && state.tasks().any(begins) => Err(error),
        // What fits no task may be the name of the root; otherwise it is refused later, with what to do.
        Err(_) => Ok(Address::Agent(agent)),
    }
}

fn body(arguments: &MessageArgs) -> Result<Body, CommandError> {
    if !arguments.object {
        return Ok(Body::from(arguments.text.as_str()));
    }
    match serde_json::from_str(&arguments.text) {
        Ok(object @ Value::Object(_)) => Ok(Body::from(object)),
        Ok(_) => Err(CommandError::usage("`--object`: the message is JSON, but no object")),
        Err(error) => Err(CommandError::usage(format!("`--object`: the message is not JSON: {error}"))),
    }
}
