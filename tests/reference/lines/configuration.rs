//! The configuration of tools: permissions, limits, allow lists, and the variables that set them.

use crate::reference::table::{Line, Proof, case};

/// The table.
pub(in crate::reference) const CONFIGURATION: &[Line] = &[
    case(
        "002-159",
        "whether an agent may call a tool",
        "permissions::a_call_is_decided_as_in_a_run",
    ),
    case(
        "002-188",
        "file_operations.max_file_size_mb",
        "tool_settings::each_says_where_it_comes_from",
    ),
    unit(
        "002-189",
        "file_operations.allowed_extensions",
        "every_tool_that_touches_files_keeps_to_the_allowed_kinds",
    ),
    unit(
        "002-190",
        "file_operations.forbidden_paths",
        "a_forbidden_path_is_closed_under_every_name",
    ),
    unit(
        "002-191",
        "code_execution.timeout_seconds",
        "a_command_is_cut_off_at_the_configured_time_and_memory",
    ),
    unit(
        "002-192",
        "code_execution.memory_limit_mb",
        "a_command_is_cut_off_at_the_configured_time_and_memory",
    ),
    case(
        "002-193",
        "code_execution.allowed_commands",
        "tool_settings::a_run_keeps_to_the_profile_of_the_reference",
    ),
    unit(
        "002-194",
        "web_requests.timeout_seconds",
        "the_reference_profile_holds",
    ),
    unit(
        "002-195",
        "web_requests.max_response_size_mb",
        "the_reference_profile_holds",
    ),
    Line {
        id: "002-196",
        name: "web_requests.allowed_domains",
        proof: Proof::Unit(
            "crates/core/src/policy/decision/limit_tests.rs",
            "hosts_that_are_not_listed_are_asked_about",
        ),
    },
    case(
        "002-197",
        "RALPH_TOOLS_CONFIG",
        "tool_settings::each_says_where_it_comes_from",
    ),
    case(
        "002-198",
        "RALPH_SANDBOX_MODE",
        "settings::the_environment_cannot_switch_the_sandbox_off",
    ),
    case(
        "002-200",
        "RALPH_RESOURCE_LIMITS",
        "tool_settings::limits_of_the_environment_replace_the_users",
    ),
];

const fn unit(id: &'static str, name: &'static str, test: &'static str) -> Line {
    Line {
        id,
        name,
        proof: Proof::Unit("crates/tools/tests/suite/rules/limits.rs", test),
    }
}
