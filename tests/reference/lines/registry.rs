//! Tools as values: their interface, results, registry and executor.

use crate::reference::table::{Line, case, unit};

const CATALOGUE: &str = "crates/tools/src/builtin/catalogue.rs";
const COMMANDS: &str = "crates/tools/tests/suite/builtin/commands.rs";
const CONFORMANCE: &str = "crates/tools/tests/suite/execute/conformance.rs";
const ERRORS: &str = "crates/tools/tests/suite/execute/errors.rs";
const FILES: &str = "crates/tools/tests/suite/builtin/files.rs";
const LIMITS: &str = "crates/tools/src/call/command.rs";
const METRICS: &str = "crates/core/src/projections/tool_metrics.rs";
const RECORDS: &str = "crates/tools/tests/suite/execute/records.rs";
const REGISTRY: &str = "crates/tools/tests/suite/registered/registry.rs";
const TERMINATES: &str = "spawning::a_parent_ends_a_subtree_and_its_work_is_kept";
const SPAWNS: &str = "spawning::children_begin_with_their_parents_work";
const STRANGER: &str = "a_strangers_tool_is_found_by_name_category_and_words";

/// The table.
pub(in crate::reference) const TOOLS_AS_VALUES: &[Line] = &[
    unit(
        "002-033",
        "run_shell_command",
        COMMANDS,
        "the_exit_code_comes_last",
    ),
    unit(
        "002-034",
        "run_shell_command runs for 120 s unless asked otherwise",
        LIMITS,
        "a_time_limit_is_capped_and_has_a_default",
    ),
    case("002-089", "spawn_child_agent", SPAWNS),
    case("002-090", "spawn_child_agent(task, context)", SPAWNS),
    case("002-091", "AgentHandle", SPAWNS),
    case("002-092", "get_agent_status", "waits::agents_are_seen"),
    case("002-093", "AgentStatus", "waits::agents_are_seen"),
    case(
        "002-094",
        "send_message_to_agent",
        "messages::a_message_arrives_between_results_and_request",
    ),
    unit(
        "002-095",
        "a message may be an object",
        ERRORS,
        "a_message_may_be_an_object",
    ),
    case(
        "002-096",
        "send_message_to_agent says whether it succeeded",
        "messages::an_unknown_recipient_is_the_senders_error",
    ),
    case("002-097", "terminate_agent", TERMINATES),
    case(
        "002-098",
        "terminate_agent says whether it succeeded",
        TERMINATES,
    ),
    case("002-099", "list_active_agents", "waits::agents_are_seen"),
    case("002-100", "AgentInfo", "waits::agents_are_seen"),
    case(
        "002-101",
        "aggregate_agent_results",
        "aggregate::an_agent_sees_where_siblings_stand_in_each_others_way",
    ),
    case(
        "002-102",
        "AggregatedResults",
        "aggregate::a_program_gets_the_same_value",
    ),
    unit(
        "002-115",
        "Tool.name",
        CATALOGUE,
        "every_tool_has_the_name_of_its_description_file",
    ),
    unit(
        "002-116",
        "Tool.description",
        CONFORMANCE,
        "every_built_in_tool_conforms",
    ),
    unit(
        "002-117",
        "calls are counted from 0",
        RECORDS,
        "figures_are_kept_for_each_tool",
    ),
    unit(
        "002-118",
        "a success rate from 0",
        METRICS,
        "figures_are_of_the_newest_calls",
    ),
    unit(
        "002-119",
        "the success rate is successes / calls",
        RECORDS,
        "figures_are_kept_for_each_tool",
    ),
    unit(
        "002-120",
        "Tool.execute gives a ToolResult",
        CONFORMANCE,
        "every_built_in_tool_conforms",
    ),
    unit(
        "002-121",
        "Tool.validate_parameters",
        ERRORS,
        "arguments_that_do_not_fit_are_explained",
    ),
    case(
        "002-122",
        "Tool.get_help",
        "tool_files::tools_are_listed_searched_and_shown",
    ),
    unit(
        "002-123",
        "ToolResult.success",
        COMMANDS,
        "a_failing_command_keeps_its_output",
    ),
    unit(
        "002-124",
        "ToolResult.data",
        FILES,
        "a_file_is_read_in_numbered_pages",
    ),
    unit(
        "002-125",
        "ToolResult.error",
        COMMANDS,
        "a_failing_command_keeps_its_output",
    ),
    unit(
        "002-126",
        "ToolResult.execution_time",
        COMMANDS,
        "what_a_command_used_is_recorded",
    ),
    unit(
        "002-127",
        "ToolResult.resource_usage",
        COMMANDS,
        "what_a_command_used_is_recorded",
    ),
    unit(
        "002-128",
        "register_tool(tool, category)",
        REGISTRY,
        STRANGER,
    ),
    unit("002-129", "categories are free texts", REGISTRY, STRANGER),
    unit("002-130", "get_tool(name)", REGISTRY, STRANGER),
    unit("002-131", "list_tools()", REGISTRY, STRANGER),
    unit("002-132", "list_tools(category)", REGISTRY, STRANGER),
    unit(
        "002-133",
        "search_tools by name, description and functionality",
        REGISTRY,
        STRANGER,
    ),
    case(
        "002-134",
        "the registry from a shell",
        "tool_files::tools_are_listed_searched_and_shown",
    ),
    unit(
        "002-135",
        "the executor asks registry, policy and resources",
        ERRORS,
        "the_checks_come_in_their_order",
    ),
    unit(
        "002-136",
        "their order",
        ERRORS,
        "the_checks_come_in_their_order",
    ),
    unit(
        "002-137",
        "Security validation failed",
        ERRORS,
        "the_checks_come_in_their_order",
    ),
    unit(
        "002-138",
        "Resource limits exceeded",
        ERRORS,
        "no_room_and_too_many_calls_are_refused",
    ),
    unit(
        "002-139",
        "Tool '<name>' not found",
        ERRORS,
        "an_unknown_tool_is_answered_with_the_nearest_names",
    ),
    unit(
        "002-140",
        "Invalid parameters",
        ERRORS,
        "arguments_that_do_not_fit_are_explained",
    ),
    unit(
        "002-141",
        "execution is asynchronous",
        RECORDS,
        "one_tool_serves_many_agents",
    ),
    unit(
        "002-142",
        "execution is monitored",
        COMMANDS,
        "what_a_command_used_is_recorded",
    ),
    unit(
        "002-143",
        "metrics are updated after each call",
        RECORDS,
        "figures_are_kept_for_each_tool",
    ),
    unit(
        "002-144",
        "an exception is a failed result with its text",
        ERRORS,
        "a_panic_is_a_failure_of_the_tool",
    ),
];
