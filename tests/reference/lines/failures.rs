//! What happens after a call has failed, and how a run goes on.

use crate::reference::table::{Line, case, unit};

const DECISIONS: &str = "crates/core/src/policy/failure_handling.rs";
const HANDLED: &str = "crates/tools/tests/suite/execute/failures.rs";

const APPROVALS: &str = "crates/tools/tests/suite/rules/approvals.rs";

/// The table.
pub(in crate::reference) const FAILURES: &[Line] = &[
    unit(
        "002-201",
        "a handler chooses by the class of the error",
        DECISIONS,
        "each_class_of_failure_has_its_strategy",
    ),
    unit(
        "002-202",
        "timeout: once more with a longer limit",
        HANDLED,
        "a_command_that_changed_nothing_gets_more_time",
    ),
    unit(
        "002-203",
        "timeout: another approach",
        HANDLED,
        "another_tool_answers_for_one_that_cannot",
    ),
    unit(
        "002-204",
        "no permission: a person is asked",
        APPROVALS,
        "a_call_that_the_system_forbids_waits_for_a_person_the_second_time",
    ),
    unit(
        "002-205",
        "no permission: an alternative",
        HANDLED,
        "another_tool_answers_for_one_that_cannot",
    ),
    unit(
        "002-206",
        "strategy of network errors",
        HANDLED,
        "each_class_of_failure_is_handled_by_its_strategy",
    ),
    unit(
        "002-207",
        "strategy of other errors",
        HANDLED,
        "each_class_of_failure_is_handled_by_its_strategy",
    ),
    case(
        "002-208",
        "alternatives of tools",
        "failures::the_alternative_that_the_user_names_answers",
    ),
    unit(
        "002-209",
        "degraded mode",
        HANDLED,
        "a_class_out_of_order_is_refused_until_a_call_succeeds",
    ),
    case(
        "002-210",
        "a person steps in",
        "approvals::a_live_run_takes_the_answer",
    ),
    case(
        "002-211",
        "state is recovered",
        "failures::a_command_that_was_cut_off_can_be_undone",
    ),
];
