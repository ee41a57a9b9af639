//! The audit log of tool calls.

use crate::reference::table::{Line, case};

/// The table.
pub(in crate::reference) const AUDIT: &[Line] = &[
    case(
        "002-172",
        "timestamp in UTC",
        "run_logs::every_call_is_in_the_audit_log",
    ),
    case(
        "002-173",
        "agent_id",
        "run_logs::every_call_is_in_the_audit_log",
    ),
    case(
        "002-174",
        "tool_name",
        "run_logs::every_call_is_in_the_audit_log",
    ),
    case(
        "002-175",
        "parameters without secrets",
        "run_logs::a_secret_in_an_argument_is_in_no_log",
    ),
    case(
        "002-176",
        "success",
        "run_logs::every_call_is_in_the_audit_log",
    ),
    case(
        "002-177",
        "execution_time",
        "run_logs::every_call_is_in_the_audit_log",
    ),
    case(
        "002-178",
        "error",
        "run_logs::every_call_is_in_the_audit_log",
    ),
    case(
        "002-179",
        "written as a log",
        "run_logs::every_call_is_in_the_audit_log",
    ),
    case(
        "002-199",
        "RALPH_AUDIT_LOG_PATH",
        "run_logs::the_audit_logs_of_all_runs_go_to_a_file_of_the_user",
    ),
];
