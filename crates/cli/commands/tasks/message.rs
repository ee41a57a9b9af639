//! `message`: sends a message to agents, which read it between two turns, or answers the question
//! of one.

use orchestrate_core::run::request::Request;
use orchestrate_core::text::similar::nearest;
use orchestrate_core::{Address, AgentId, Body, MessageKind, RunState, TaskRecord};
use serde_json::Value;

use crate::args::{RequestArgs, Saying};
use crate::context::{Context, task_of};
use crate::error::hints::addresses;
use crate::error::{CommandError, Wording};
use crate::follow::inbox::{self, Sending};
use crate::show::output::joined;

/// Runs the command.
pub(crate) fn execute(
    context: &Context,
    arguments: &RequestArgs<Saying>,
) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let saying = &arguments.what;
    let request = request(&store.state(&run)?, saying, saying.kind)?;
    let sending = Sending::new(arguments.follow.follow, &arguments.output.values());
    inbox::send(context, &store, &run, &request, &sending)
}

/// Returns the request that sends a message of this kind.
pub(crate) fn request(
    state: &RunState,
    saying: &Saying,
    kind: Option<MessageKind>,
) -> Result<Request, CommandError> {
    Ok(Request::Message {
        to: address(state, &saying.to)?,
        body: body(saying)?,
        kind,
        reply_to: saying.reply_to,
        deadline_seconds: saying.deadline,
    })
}

/// Returns the typed address, if it can be one of the user's.
fn address(state: &RunState, typed: &str) -> Result<Address, CommandError> {
    let refused =
        |message: String| Err(CommandError::usage(message).hint(addresses(&state.run_id)));
    match Address::from(typed) {
        Address::Agent(agent) => agent_of(state, agent).map(Address::Agent),
        Address::Role(role) => role_of(state, role).map(Address::Role),
        Address::User => refused("`user` is you: agents write to you at this address".to_owned()),
        Address::Parent | Address::Siblings => refused(format!(
            "`{typed}` is an address for agents: nobody is above or beside you"
        )),
        several @ (Address::Children | Address::All) => Ok(several),
    }
}

/// Returns the agent of a task; the beginning of its id is enough.
fn agent_of(state: &RunState, agent: AgentId) -> Result<AgentId, CommandError> {
    let begins = |record: &TaskRecord| record.task.id.as_str().starts_with(agent.as_str());
    match task_of(state, agent.as_str()) {
        Ok(task) => Ok(task),
        // It fits several tasks.
        Err(error) if !agent.as_str().is_empty() && state.tasks().any(begins) => Err(error),
        // What fits no task may be the name of the root; otherwise it is refused later, with what
        // to do.
        Err(_) => Ok(agent),
    }
}

/// Returns a role, if an agent of the run has it.
fn role_of(state: &RunState, role: String) -> Result<String, CommandError> {
    let roles = state.roles();
    if roles.contains(role.as_str()) {
        return Ok(role);
    }
    let message = format!("no agent of run {} has the role '{role}'", state.run_id);
    let error = CommandError::usage(message);
    Err(match nearest(&role, roles.iter().copied()) {
        Some(nearest) => error.hint(format!("did you mean `role:{nearest}`?")),
        None if roles.is_empty() => error.hint(addresses(&state.run_id)),
        None => error.hint(format!("the roles of its agents are: {}", joined(roles))),
    })
}

fn body(arguments: &Saying) -> Result<Body, CommandError> {
    if !arguments.object {
        return Ok(Body::from(arguments.text.as_str()));
    }
    let refused = |why: String| {
        let object = arguments.wording.argument("object");
        let error = CommandError::usage(format!("{object}: the message is {why}"));
        error.hint(match arguments.wording {
            Wording::Command => format!(
                "type a JSON object in quotes, such as `orchestrate message {} \
                 '{{\"port\": 4711}}' --object`, or omit {object}",
                arguments.to
            ),
            Wording::Line => format!(
                r#"write a JSON object as text, such as "{{\"port\": 4711}}", or omit {object}"#
            ),
        })
    };
    match serde_json::from_str(&arguments.text) {
        Ok(object @ Value::Object(_)) => Ok(Body::from(object)),
        Ok(_) => Err(refused("JSON, but no object".to_owned())),
        Err(error) => Err(refused(format!("not JSON: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::progress::tests::asking_run;

    #[test]
    fn an_address_that_reaches_nobody_is_refused_with_what_to_do() {
        let addresses = "write to a task by its id (`orchestrate status r-abcdef` lists them), or \
                         to `role:NAME`, `children` or `all`";
        let no_role = |role: &str| format!("no agent of run r-abcdef has the role '{role}'");
        let no_relative = |word: &str| {
            format!("`{word}` is an address for agents: nobody is above or beside you")
        };
        let table = [
            (
                "user",
                "`user` is you: agents write to you at this address".to_owned(),
                addresses,
            ),
            ("parent", no_relative("parent"), addresses),
            ("siblings", no_relative("siblings"), addresses),
            (
                "role:nobody",
                no_role("nobody"),
                "the roles of its agents are: implementer",
            ),
            (
                "role:implementor",
                no_role("implementor"),
                "did you mean `role:implementer`?",
            ),
        ];
        let state = asking_run();
        for (typed, message, hint) in table {
            let refused = address(&state, typed).err();
            let said = refused.as_ref().map(CommandError::in_one_line);
            assert_eq!(said, Some(message), "{typed}");
            let hints = refused.map(|error| error.hints);
            assert_eq!(hints, Some(vec![hint.to_owned()]), "{typed}");
        }
        for typed in ["role:implementer", "children", "all", "T1"] {
            assert_eq!(address(&state, typed).ok(), Some(Address::from(typed)));
        }
    }
}
