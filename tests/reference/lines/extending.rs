//! What people add: plugins, tools of their own, their tests, and the reference of all tools.

use crate::reference::table::{Line, case, unit};

/// The table.
pub(in crate::reference) const EXTENDING: &[Line] = &[
    case(
        "002-212",
        "ToolPlugin(name, version)",
        "extending::a_plugin_is_frozen_listed_and_used_in_a_run",
    ),
    case(
        "002-213",
        "ToolPlugin.register_tools(registry)",
        "extending::a_plugin_is_frozen_listed_and_used_in_a_run",
    ),
    case(
        "002-214",
        "ToolPlugin.initialize(config)",
        "extending::a_plugin_that_cannot_be_used_opens_nothing",
    ),
    case(
        "002-215",
        "template for custom tools",
        "children::example_custom_tool_runs",
    ),
    case(
        "002-216",
        "registration API",
        "extending::a_tool_of_the_programs_own_is_used_without_a_plugin",
    ),
    unit(
        "002-217",
        "testing framework for custom tools",
        "examples/custom_tool.rs",
        "it_meets_the_requirements_on_every_tool",
    ),
    case(
        "002-218",
        "documentation generator",
        "extending::the_reference_of_the_tools_is_written",
    ),
];
