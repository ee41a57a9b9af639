//! The context of one execution, which a tool receives and never stores, and the callbacks of a
//! program.

use crate::reference::table::{Line, case, unit};

const CONFORMANCE: &str = "crates/tools/tests/suite/execute/conformance.rs";
const DOCUMENTS: &str = "crates/tools/tests/suite/registered/documents.rs";
const ERRORS: &str = "crates/tools/tests/suite/execute/errors.rs";
const RECORDS: &str = "crates/tools/tests/suite/execute/records.rs";

const MANY: &str = "one_tool_serves_many_agents";
const TOLD: &str = "a_model_is_told_what_a_tool_says_of_itself";
const HEARD: &str = "extending::callbacks_hear_each_call_and_hold_up_none";

/// The table.
#[rustfmt::skip]
pub(in crate::reference) const CONTEXT: &[Line] = &[
    unit("003-001", "the context is injected between model call and tool", RECORDS, MANY),
    unit("003-002", "the model passes only the parameters", RECORDS, MANY),
    unit("003-003", "no context in a tool's instance", RECORDS, MANY),
    unit("003-004", "concurrent calls do not race", RECORDS, MANY),
    unit("003-005", "a new wrapper for each execution", RECORDS, MANY),
    unit("003-006", "nothing mutable is shared by executions", RECORDS, MANY),
    unit("003-007", "tools reach the run's shared state through the context", DOCUMENTS, "the_tools_of_a_run_share_values"),
    unit("003-008", "made of a tool and a context", RECORDS, MANY),
    unit("003-009", "metadata for the model: name", DOCUMENTS, TOLD),
    unit("003-010", "metadata for the model: description", DOCUMENTS, TOLD),
    unit("003-011", "metadata for the model: parameters, if there are any", DOCUMENTS, TOLD),
    case("003-012", "callback at the start: name and arguments", HEARD),
    unit("003-013", "arguments are transformed to the tool's own form", RECORDS, "aliases_are_recorded_under_their_own_names"),
    case("003-014", "callback at the end: name and result", HEARD),
    unit("003-015", "the result is returned to the caller", CONFORMANCE, "every_built_in_tool_conforms"),
    unit("003-016", "on an error the result reads `ERROR: <message>`", "crates/coordinator/src/run/program/callbacks.rs", "the_result_of_a_failed_call_begins_with_its_error"),
    unit("003-017", "the error is raised to the caller", ERRORS, "every_class_of_failure_passes_unchanged"),
    unit("003-018", "the description falls back to the tool's", DOCUMENTS, TOLD),
    unit("003-019", "the name falls back to the tool's", DOCUMENTS, TOLD),
    unit("003-020", "the parameters are the tool's", DOCUMENTS, TOLD),
    unit("003-021", "as text it is its name", DOCUMENTS, TOLD),
    case("003-022", "a program can hang callbacks on a run", HEARD),
];
