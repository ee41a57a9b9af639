//! Permissions, the isolation of agents, and the limits of their contexts.

use crate::reference::table::{Line, case, unit};

const CONTEXT: &str = "crates/core/src/agent/context/tests.rs";
const ISOLATION: &str = "crates/tools/tests/suite/rules/hostile.rs";
const LIMITS: &str = "crates/tools/tests/suite/rules/limits.rs";
const PERMISSIONS: &str = "crates/tools/tests/suite/rules/permissions.rs";
const SPENDING: &str = "crates/core/tests/it/agents/spending.rs";

const COVERED: &str = "each_covers_the_tools_of_the_reference";
const GRANTED: &str = "a_grant_needs_tool_and_permission";
const TOKENS: &str = "the_limit_of_a_request_is_that_of_its_agent";
const WORKTREES: &str = "end_to_end::each_agent_has_the_project_in_a_worktree_of_its_own (full)";

/// The table.
pub(in crate::reference) const PERMISSIONS_AND_LIMITS: &[Line] = &[
    unit("002-145", "the permission file_read", PERMISSIONS, COVERED),
    unit(
        "002-146",
        "file_read covers reading, listing and facts",
        PERMISSIONS,
        COVERED,
    ),
    unit("002-147", "the permission file_write", PERMISSIONS, COVERED),
    unit(
        "002-148",
        "file_write covers writing, appending and new folders",
        PERMISSIONS,
        COVERED,
    ),
    unit(
        "002-149",
        "the permission file_modify",
        PERMISSIONS,
        COVERED,
    ),
    unit(
        "002-150",
        "file_modify covers deleting, moving and copying",
        PERMISSIONS,
        COVERED,
    ),
    unit(
        "002-151",
        "the permission code_execution",
        PERMISSIONS,
        COVERED,
    ),
    unit(
        "002-153",
        "the permission network_access",
        PERMISSIONS,
        GRANTED,
    ),
    unit(
        "002-156",
        "git_operations covers status, commit and push",
        PERMISSIONS,
        COVERED,
    ),
    unit(
        "002-157",
        "the permission agent_spawn",
        PERMISSIONS,
        GRANTED,
    ),
    unit(
        "002-158",
        "agent_spawn covers spawn_child_agent",
        PERMISSIONS,
        COVERED,
    ),
    case(
        "002-160",
        "the permissions of an agent",
        "permissions::every_shipped_role_states_its_own",
    ),
    unit(
        "002-161",
        "the permission that a tool requires",
        PERMISSIONS,
        COVERED,
    ),
    case(
        "002-162",
        "the main directory is left to the user, and a result lands in it on request",
        "land::a_fast_forward_lands_and_is_undone",
    ),
    unit(
        "002-164",
        "files are separate for each agent",
        ISOLATION,
        "paths_that_leave_are_refused",
    ),
    case("002-165", "every agent sees the whole project", WORKTREES),
    case(
        "002-168",
        "concurrent work is separate",
        "bounds::three_agents_work_at_once",
    ),
    case(
        "002-169",
        "versions and rollback",
        "land::a_fast_forward_lands_and_is_undone",
    ),
    case(
        "002-170",
        "a project is a git repository",
        "cli::bad_surroundings_are_refused_before_anything_begins",
    ),
    case("002-171", "a worktree is named for its agent", WORKTREES),
    unit(
        "002-180",
        "tools are limited on the host as well, on purpose",
        LIMITS,
        "a_command_is_cut_off_at_the_configured_time_and_memory",
    ),
    case(
        "002-181",
        "rate limits of models",
        "models::a_used_up_rate_is_waited_out",
    ),
    case(
        "002-182",
        "the root has up to 1,000,000 tokens, as many as its model takes",
        "goals::only_the_agent_of_a_goal_has_the_context_of_the_root",
    ),
    case(
        "002-183",
        "children have 16,000 tokens",
        "bounds::the_context_bound_holds",
    ),
    unit(
        "002-184",
        "tasks are scoped by the window",
        CONTEXT,
        "old_results_are_collapsed_before_turns_are_left_out",
    ),
    unit(
        "002-185",
        "a request fits if its estimate is within the limit",
        CONTEXT,
        "a_request_fits_up_to_its_limit",
    ),
    unit("002-186", "the token limit of an agent", SPENDING, TOKENS),
    unit(
        "002-187",
        "main_ralph_coordinator is the root",
        SPENDING,
        TOKENS,
    ),
];
