//! Adds children to a run, for the calls of agents and for programs alike.

use std::collections::BTreeSet;

use orchestrate_core::messages::SpawnRefused;
use orchestrate_core::run::child::{AskedChild, SpawnDecision};
use orchestrate_core::task::Delivers;
use orchestrate_core::{
    AgentHandle, AgentId, Authority, BlobId, CallOfTurn, Oid, RunState, Task, TaskId,
};
use orchestrate_journal::{Appended, Batch, Blob};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::error::CoordinatorError;
use crate::ruling::Ruling;
use crate::run::authority;
use crate::run::context::RunContext;

/// A child to be added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NewChild {
    /// The agent that becomes its parent.
    pub(crate) parent: Option<AgentId>,
    /// The parent's call; `None` for a program.
    pub(crate) call: Option<CallOfTurn>,
    /// The id that a program has chosen.
    pub(crate) id: Option<TaskId>,
    /// The hash of all that a program asks for; `None` for the child of a call.
    #[serde(default)]
    pub(crate) asked: Option<BlobId>,
    /// Its task, without the id.
    pub(crate) task: Task,
    /// The commit that it starts from; `None` for the run's result.
    pub(crate) base: Option<Oid>,
    /// What it is given beside its task: text, or JSON.
    pub(crate) context: Option<String>,
    /// The tools that it is to have, by any of their names; `None` for all that it may have.
    pub(crate) tools: Option<Vec<String>>,
}

/// Adds a child, and returns its handle, or why it is refused. The same call adds one only once.
pub(crate) async fn add(
    context: &RunContext,
    new: NewChild,
) -> Result<Ruling<AgentHandle, SpawnRefused>, CoordinatorError> {
    let given = new.context.clone().map(|text| Blob::new(text.into_bytes()));
    let asked = AskedChild {
        context: given.as_ref().map(|blob| blob.id().clone()),
        ..asked(context, new)?
    };
    // The decision passes the id on, which it makes of the state at that moment.
    let (tell, id) = oneshot::channel();
    let added = context.journal.append_if(move |state| {
        let (id, batch) = match state.decide_spawn(asked)? {
            SpawnDecision::Adds(event) => {
                let blobs = given.into_iter().collect();
                (
                    event.task().cloned(),
                    Batch {
                        events: vec![*event],
                        blobs,
                        ..Batch::default()
                    },
                )
            }
            SpawnDecision::Exists(id) => (Some(id), Batch::default()),
        };
        // Fails if the caller no longer waits; the child is added nevertheless.
        let _ = tell.send(id);
        Ok(batch)
    });
    if let Appended::Refused(refused) = added.await? {
        return Ok(Ruling::Refused(refused));
    }
    let ended = || CoordinatorError::Ended(context.run.clone());
    let id = id.await.ok().flatten().ok_or_else(ended)?;
    let child = context.state().handle_of(&context.task(&id)?);
    Ok(Ruling::Granted(child))
}

/// Returns the child that the call has added already, or `None` if it may add one, or why it may
/// not. Nothing is recorded.
pub(crate) fn foresee(
    context: &RunContext,
    new: NewChild,
) -> Result<Ruling<Option<AgentHandle>, SpawnRefused>, CoordinatorError> {
    let (state, asked) = (context.state(), asked(context, new)?);
    Ok(match state.decide_spawn(asked) {
        Ok(SpawnDecision::Adds(_)) => Ruling::Granted(None),
        Ok(SpawnDecision::Exists(id)) => {
            Ruling::Granted(Some(state.handle_of(&context.task(&id)?)))
        }
        Err(refused) => Ruling::Refused(refused),
    })
}

/// Returns the child with what its role and its parent's role allow.
fn asked(context: &RunContext, new: NewChild) -> Result<AskedChild, CoordinatorError> {
    let state = context.state();
    let NewChild {
        parent,
        call,
        id,
        asked,
        task,
        base,
        tools,
        ..
    } = new;
    let role = context.roles.role(state.role_of(&task))?;
    let names = &state.settings.tools;
    let canonical = |tools: Vec<String>| {
        tools
            .iter()
            .flat_map(|tool| names.in_role(tool))
            .collect::<BTreeSet<_>>()
    };
    Ok(AskedChild {
        of_role: authority::of_role(context, &state, &task, role),
        of_parents_role: of_parents_role(context, &state, parent.as_ref())?,
        delivers_changes: role.delivers == Delivers::Changes
            && !role.may_do_nothing
            && !task.may_change_nothing,
        tools: tools.map(canonical),
        context: None,
        asked,
        parent,
        call,
        id,
        task,
        base,
    })
}

fn of_parents_role(
    context: &RunContext,
    state: &RunState,
    parent: Option<&AgentId>,
) -> Result<Option<Authority>, CoordinatorError> {
    let Some(record) = parent.and_then(|parent| state.task(parent)) else {
        return Ok(None);
    };
    let role = context.roles.role(
        record
            .agent()
            .unwrap_or_else(|| state.role_of(&record.task)),
    )?;
    Ok(Some(authority::of_agent(context, state, record, role)))
}
