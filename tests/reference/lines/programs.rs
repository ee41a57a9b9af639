//! The tools that run a project's programs.

use crate::reference::table::{Line, Proof, case};

const PROGRAMS_TESTS: &str = "crates/tools/tests/suite/builtin/programs.rs";
const READERS: &str = "crates/tools/src/builtin/programs/parse/tests.rs";
const RUNNERS: &str = "crates/tools/src/builtin/programs/runners/tests.rs";
const CHECKERS: &str = "crates/tools/src/builtin/programs/checkers/tests.rs";

const fn unit(
    id: &'static str,
    name: &'static str,
    file: &'static str,
    test: &'static str,
) -> Line {
    Line {
        id,
        name,
        proof: Proof::Unit(file, test),
    }
}

/// The table.
pub(in crate::reference) const PROGRAMS: &[Line] = &[
    unit(
        "002-029",
        "run_python",
        PROGRAMS_TESTS,
        "a_script_runs_isolated_with_its_limits",
    ),
    unit(
        "002-030",
        "run_python(code)",
        PROGRAMS_TESTS,
        "a_script_runs_isolated_with_its_limits",
    ),
    unit(
        "002-031",
        "run_python runs for 30 s unless asked otherwise",
        PROGRAMS_TESTS,
        "a_script_has_the_time_of_the_reference",
    ),
    unit(
        "002-032",
        "ExecutionResult of a script",
        PROGRAMS_TESTS,
        "a_script_runs_isolated_with_its_limits",
    ),
    unit(
        "002-035",
        "ExecutionResult of a command",
        "crates/tools/tests/suite/builtin/commands.rs",
        "a_failing_command_keeps_its_output",
    ),
    unit(
        "002-036",
        "run_tests",
        RUNNERS,
        "the_runner_is_the_projects_own",
    ),
    unit(
        "002-037",
        "run_tests(test_pattern) gives TestResults",
        READERS,
        "each_runners_report_is_read",
    ),
    unit(
        "002-038",
        "run_linter",
        CHECKERS,
        "the_programs_are_those_of_the_language",
    ),
    unit(
        "002-039",
        "run_linter(files) gives LintResults",
        PROGRAMS_TESTS,
        "ruff_lists_findings_and_formats",
    ),
    unit(
        "002-040",
        "run_type_checker",
        CHECKERS,
        "the_programs_are_those_of_the_language",
    ),
    unit(
        "002-041",
        "run_type_checker(files) gives TypeCheckResults",
        PROGRAMS_TESTS,
        "mypy_lists_findings",
    ),
    unit(
        "002-042",
        "run_formatter",
        CHECKERS,
        "the_programs_are_those_of_the_language",
    ),
    unit(
        "002-043",
        "run_formatter(files) gives FormatResults",
        PROGRAMS_TESTS,
        "code_of_rust_is_checked_and_formatted",
    ),
    case(
        "002-044",
        "install_package",
        "packages::a_package_of_npm_is_installed_without_its_scripts",
    ),
    case(
        "002-045",
        "install_package(package, version)",
        "packages::a_wheel_is_installed_into_the_projects_environment",
    ),
    unit(
        "002-046",
        "create_virtual_environment",
        PROGRAMS_TESTS,
        "a_virtual_environment_is_made_and_used",
    ),
    unit(
        "002-047",
        "create_virtual_environment(path)",
        PROGRAMS_TESTS,
        "a_virtual_environment_is_made_and_used",
    ),
    unit(
        "002-152",
        "code_execution covers scripts",
        PROGRAMS_TESTS,
        "a_script_needs_the_permission_to_run_code",
    ),
];
