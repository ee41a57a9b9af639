//! Wrapped tools: markers, exit codes, signals, and the cache.

/// What shows that something works.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proof {
    /// A test of this program.
    Case(&'static str),
    /// A test in a file of a crate.
    Unit(&'static str, &'static str),
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) proof: Proof,
}

pub(super) const fn case(id: &'static str, name: &'static str, test: &'static str) -> Line {
    Line {
        id,
        name,
        proof: Proof::Case(test),
    }
}

pub(super) const fn unit(
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
pub(super) const WRAPPED_TOOLS: &[Line] = &[
    case(
        "000-001",
        "start marker of each tool",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-002",
        "end marker of each tool",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-003",
        "duration in milliseconds",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-004",
        "end after a failure",
        "tool_run::the_exit_code_is_the_commands",
    ),
    case(
        "000-005",
        "end after INT",
        "tool_run::int_and_term_end_a_command_with_all_its_processes",
    ),
    case(
        "000-006",
        "end after TERM",
        "tool_run::int_and_term_end_a_command_with_all_its_processes",
    ),
    case(
        "000-007",
        "end after a kill, by the next call",
        "tool_run::a_killed_call_leaves_no_process_and_is_ended_by_the_next",
    ),
    case(
        "000-008",
        "exit code",
        "tool_run::the_exit_code_is_the_commands",
    ),
    case(
        "000-009",
        "any command can be wrapped",
        "tool_run::the_checks_of_the_reference",
    ),
    case(
        "000-010",
        "parameter tool_id",
        "tool_run::the_callers_values_stand_in_the_markers",
    ),
    case(
        "000-011",
        "parameter tool_name",
        "tool_run::the_callers_values_stand_in_the_markers",
    ),
    case(
        "000-012",
        "parameter cache_key",
        "tool_run::the_callers_values_stand_in_the_markers",
    ),
    case(
        "000-013",
        "parameter git_sha",
        "tool_run::the_callers_values_stand_in_the_markers",
    ),
    case(
        "000-014",
        "the command is a text for a shell",
        "tool_run::the_callers_values_stand_in_the_markers",
    ),
    case(
        "000-015",
        "the exit code is returned",
        "tool_run::the_exit_code_is_the_commands",
    ),
    case(
        "000-016",
        "start before the command runs",
        "tool_run::a_start_is_logged_before_the_command_runs",
    ),
    case(
        "000-017",
        "times in milliseconds",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-018",
        "INT: FAIL, 130, interrupted",
        "tool_run::int_and_term_end_a_command_with_all_its_processes",
    ),
    case(
        "000-019",
        "TERM: FAIL, 130, interrupted",
        "tool_run::int_and_term_end_a_command_with_all_its_processes",
    ),
    case(
        "000-020",
        "the wrapper exits 130",
        "tool_run::int_and_term_end_a_command_with_all_its_processes",
    ),
    case(
        "000-021",
        "a failure is captured",
        "tool_run::the_exit_code_is_the_commands",
    ),
    case(
        "000-022",
        "no second clean-up",
        "tool_run::int_and_term_end_a_command_with_all_its_processes",
    ),
    case(
        "000-023",
        "FAIL with exit_code_N",
        "tool_run::the_exit_code_is_the_commands",
    ),
    case(
        "000-024",
        "PASS without a reason",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-025",
        "one end for each id",
        "tool_run::int_and_term_end_a_command_with_all_its_processes",
    ),
    case(
        "000-026",
        "key agent|phase|hash|sha",
        "replay::a_key_has_its_four_parts",
    ),
    case(
        "000-027",
        "hash of the prompt file",
        "replay::a_key_has_its_four_parts",
    ),
    case("000-028", "16 digits", "replay::a_key_has_its_four_parts"),
    case("000-029", "short HEAD", "replay::a_key_has_its_four_parts"),
    case(
        "000-030",
        "unknown without a repository",
        "tool_run::it_works_outside_a_repository",
    ),
    case(
        "000-031",
        "agent from AGENT_NAME",
        "replay::a_key_has_its_four_parts",
    ),
    case(
        "000-032",
        "agent from RUNNER",
        "replay::a_key_has_its_four_parts",
    ),
    case(
        "000-033",
        "agent if neither is set",
        "replay::a_key_has_its_four_parts",
    ),
    case(
        "000-034",
        "agent in lower case",
        "replay::a_key_has_its_four_parts",
    ),
    case(
        "000-035",
        "phase plan or build",
        "replay::a_key_has_its_four_parts",
    ),
    case(
        "000-036",
        "content, never an iteration",
        "replay::a_key_has_its_four_parts",
    ),
    case(
        "000-037",
        "hits across runs",
        "replay::a_hit_is_replayed_byte_for_byte_and_starts_nothing",
    ),
    case(
        "000-038",
        "git push",
        "replay::the_lists_say_what_is_never_replayed",
    ),
    case(
        "000-039",
        "git commit",
        "replay::the_lists_say_what_is_never_replayed",
    ),
    case(
        "000-040",
        "acli rovodev invoke, not wrapped",
        "replay::the_lists_say_what_is_never_replayed",
    ),
    case(
        "000-041",
        "shellcheck",
        "replay::the_lists_say_what_is_never_replayed",
    ),
    case(
        "000-042",
        "markdownlint",
        "replay::the_lists_say_what_is_never_replayed",
    ),
    case(
        "000-043",
        "pre-commit run",
        "replay::the_lists_say_what_is_never_replayed",
    ),
    case(
        "000-044",
        "a wrapped call by the prompt's hash",
        "replay::the_second_example_of_the_reference",
    ),
    case(
        "000-045",
        "CACHE_SKIP=true",
        "replay::the_mode_comes_from_the_option_or_the_environment",
    ),
    case(
        "000-046",
        "CACHE_MODE=use",
        "replay::the_mode_comes_from_the_option_or_the_environment",
    ),
    case(
        "000-047",
        "guard of open tasks",
        "replay::open_tasks_guard_the_build_phase",
    ),
    case(
        "000-048",
        "marker of the guard",
        "replay::open_tasks_guard_the_build_phase",
    ),
    case(
        "000-049",
        "a guarded call runs",
        "replay::open_tasks_guard_the_build_phase",
    ),
    case(
        "000-050",
        "only results that passed",
        "replay::only_what_passed_is_found_by_key_commit_and_agent",
    ),
    case(
        "000-051",
        "key, sha and agent are compared",
        "replay::only_what_passed_is_found_by_key_commit_and_agent",
    ),
    case(
        "000-052",
        "hit: marker, nothing runs, 0",
        "replay::a_hit_is_replayed_byte_for_byte_and_starts_nothing",
    ),
    case(
        "000-053",
        "counter of hits",
        "replay::a_hit_is_replayed_byte_for_byte_and_starts_nothing",
    ),
    case(
        "000-054",
        "miss: marker, then run",
        "replay::a_hit_is_replayed_byte_for_byte_and_starts_nothing",
    ),
    case(
        "000-055",
        "counter of misses",
        "replay::a_hit_is_replayed_byte_for_byte_and_starts_nothing",
    ),
    case(
        "000-056",
        "no start without an end",
        "tool_run::a_killed_call_leaves_no_process_and_is_ended_by_the_next",
    ),
    case(
        "000-057",
        "TOOL_START id",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-058",
        "TOOL_START tool",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-059",
        "TOOL_START cache_key",
        "tool_run::the_callers_values_stand_in_the_markers",
    ),
    case(
        "000-060",
        "TOOL_START git_sha",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-061",
        "TOOL_START ts",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-062",
        "TOOL_END id",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-063",
        "TOOL_END result",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-064",
        "TOOL_END rc",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-065",
        "TOOL_END duration_ms",
        "tool_run::markers_surround_a_command",
    ),
    case(
        "000-066",
        "TOOL_END reason",
        "tool_run::the_callers_values_stand_in_the_markers",
    ),
    case(
        "000-067",
        "fields of CACHE_HIT",
        "replay::a_hit_is_replayed_byte_for_byte_and_starts_nothing",
    ),
    case(
        "000-068",
        "fields of CACHE_MISS",
        "replay::a_hit_is_replayed_byte_for_byte_and_starts_nothing",
    ),
    case(
        "000-069",
        "unique ids",
        "tool_run::two_loops_never_share_an_id",
    ),
    case(
        "000-070",
        "first example",
        "tool_run::the_first_example_of_the_reference",
    ),
    case(
        "000-071",
        "second example",
        "replay::the_second_example_of_the_reference",
    ),
    case(
        "000-072",
        "third example",
        "replay::the_third_example_of_the_reference",
    ),
    case(
        "000-073",
        "check: INT in the background",
        "tool_run::int_and_term_end_a_command_with_all_its_processes",
    ),
    case(
        "000-074",
        "check: false gives 1",
        "tool_run::the_checks_of_the_reference",
    ),
    case(
        "000-075",
        "check: grep finds both markers",
        "tool_run::the_checks_of_the_reference",
    ),
    case(
        "000-076",
        "the list is a file",
        "replay::the_lists_say_what_is_never_replayed",
    ),
    unit(
        "000-077",
        "the list matches whole lines",
        "crates/core/src/policy/cache.rs",
        "the_lists_decide_what_is_replayed",
    ),
    case(
        "000-078",
        "cacheability is not in the code",
        "replay::the_lists_say_what_is_never_replayed",
    ),
    unit(
        "000-079",
        "the markers are documented",
        "crates/core/src/projections/marker/tests.rs",
        "the_page_of_the_markers_is_up_to_date",
    ),
    // The document plans YAML for this; the files of document 004 declare tools here.
    case(
        "000-080",
        "a declarative registry of tools",
        "tool_files::tools_are_listed_searched_and_shown",
    ),
    unit(
        "000-081",
        "a registry with permissions",
        "crates/tools/tests/suite/rules/permissions.rs",
        "each_covers_the_tools_of_the_reference",
    ),
];
