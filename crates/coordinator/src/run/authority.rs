//! What an agent may do: what was recorded with it when it was spawned, or else what its role
//! allows.

use orchestrate_core::run::child::PARENTS_TOOLS;
use orchestrate_core::{AgentLimits, Authority, RunState, Task, TaskRecord};
use orchestrate_roles::role::Role;

use crate::run::context::RunContext;

/// The tool that is offered only where there are skills.
pub(crate) const READ_SKILL: &str = "read_skill";
/// The tool that only reviewing tasks have.
const REVIEW_VERDICT: &str = "review_verdict";

/// Returns what an agent may do, which has this role.
pub(crate) fn of_agent(
    context: &RunContext,
    state: &RunState,
    record: &TaskRecord,
    role: &Role,
) -> Authority {
    if let Some(spawn) = &record.spawn {
        return spawn.authority.clone();
    }
    let mut authority = of_role(context, state, &record.task, role);
    if let Some(barred) = state.bars_children(&record.task.id) {
        authority
            .grant
            .withhold(&PARENTS_TOOLS, &barred.to_string());
    }
    authority
}

/// Returns what a role allows the agent of a task, which nothing else limits.
pub(crate) fn of_role(
    context: &RunContext,
    state: &RunState,
    task: &Task,
    role: &Role,
) -> Authority {
    let settings = &state.settings;
    let mut grant = role.grant(&settings.tools);
    if context.skills.is_empty() {
        grant.tools.remove(READ_SKILL);
    }
    if task.verdict {
        grant.tools.insert(REVIEW_VERDICT.to_owned());
    } else {
        grant.tools.remove(REVIEW_VERDICT);
    }
    let limits = AgentLimits {
        context_tokens: settings
            .token_limit_of(task, None)
            .min(role.context_tokens.unwrap_or(u64::MAX)),
        max_output_tokens: role.max_output_tokens.unwrap_or(settings.max_output_tokens),
        max_turns: settings.max_turns.min(role.max_turns.unwrap_or(u32::MAX)),
    };
    let domains = settings.tool_settings.web_requests.allowed_domains.clone();
    Authority {
        grant,
        rules: role.rules_within(&[]),
        domains,
        limits,
    }
}
