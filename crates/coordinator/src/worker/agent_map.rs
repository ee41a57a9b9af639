//! The map of the repository that an agent gets: prepared while the base is checked and its
//! worktree is made, and taken once that stands.

use std::time::Duration;

use orchestrate_core::policy::Policy;
use orchestrate_core::task::Work;
use orchestrate_core::{Oid, TaskId, TaskRecord};
use orchestrate_roles::Role;

use crate::error::CoordinatorError;
use crate::run::authority;
use crate::run::context::RunContext;
use crate::texts::repository_map::{self, MapBudget, MapError, MapOrder};

/// Begins to make what maps of the repository need, as far as it follows from the first task that
/// an agent works on.
///
/// # Errors
///
/// Fails if a rule of the run is not valid.
pub(crate) fn prepare(context: &RunContext) -> Result<(), CoordinatorError> {
    let state = context.state();
    for record in state.tasks() {
        let Work::Agent(named) = &record.task.work else {
            continue;
        };
        // A role that is missing fails the task that needs it.
        let Ok(role) = context
            .roles
            .role(named.as_deref().unwrap_or(&state.settings.agent))
        else {
            continue;
        };
        let order = order(
            context,
            role,
            MapOf {
                record,
                base: &state.base,
                context_tokens: u64::MAX,
            },
        )?;
        if order.is_possible().is_ok() {
            context.host.maps.prepare(order);
            break;
        }
    }
    Ok(())
}

/// Begins to make what the map of one agent needs, which is about to begin at this commit; a later
/// attempt gets none.
///
/// # Errors
///
/// Fails if a rule of the run is not valid.
pub(crate) fn prepare_for(
    context: &RunContext,
    role: &Role,
    record: &TaskRecord,
    base: &Oid,
) -> Result<(), CoordinatorError> {
    if record.attempt() == 0 {
        context.host.maps.prepare(order(
            context,
            role,
            MapOf {
                record,
                base,
                context_tokens: u64::MAX,
            },
        )?);
    }
    Ok(())
}

/// Returns the map of the repository for an agent whose worktree was made; `None` if it gets none,
/// has begun, or the map is not ready in time.
///
/// # Errors
///
/// Fails if the agent's specification, or its commit, cannot be read.
pub(crate) async fn take(
    context: &RunContext,
    task: &TaskId,
) -> Result<Option<String>, CoordinatorError> {
    let record = context.task(task)?;
    let (Some(role), Some(spec), Some(base)) = (record.agent(), record.spec(), record.base())
    else {
        return Ok(None);
    };
    if record.attempt() > 1 || record.turns() > 0 {
        return Ok(None);
    }
    let role = context.roles.role(role)?;
    let context_tokens = context.agent_spec(spec)?.context_tokens;
    let order = order(
        context,
        role,
        MapOf {
            record: &record,
            base,
            context_tokens,
        },
    )?;
    let wait = Duration::from_millis(context.state().settings.map_wait_ms);
    match context.host.maps.make(order, wait).await {
        Ok(map) => Ok(Some(context.host.site.redactor.owned(map))),
        Err(MapError::None(_)) => Ok(None),
        Err(MapError::Failed(error)) => Err(error),
    }
}

/// What the map of an agent is made of, besides its role.
#[derive(Clone, Copy)]
struct MapOf<'a> {
    record: &'a TaskRecord,
    /// The commit that it shows.
    base: &'a Oid,
    context_tokens: u64,
}

fn order(context: &RunContext, role: &Role, of: MapOf<'_>) -> Result<MapOrder, CoordinatorError> {
    let (state, task) = (context.state(), &of.record.task);
    let settings = &state.settings;
    let authority = authority::of_agent(context, &state, of.record, role);
    let rules = authority.rules_within(&settings.rules);
    let policy = Policy::new(&rules, &settings.tools).map_err(CoordinatorError::Rules)?;
    let worktree = context.host.path_seen(&context.run, &task.id);
    Ok(MapOrder {
        base: of.base.clone(),
        files: task.files.clone(),
        text: repository_map::words(task),
        budget: MapBudget::new(role, settings.map_tokens, of.context_tokens),
        policy: policy.limited(&settings.tool_settings, &worktree),
        grant: authority.grant,
        prompts: context.prompts.clone(),
    })
}
