//! Tests of the executor and the built-in tools from outside, with real files and real processes.
//!
//! The test harness is custom for two reasons: the sandbox's helper has to be this program, and a
//! test whose sandbox tier does not work here is reported as ignored, with what it needs, instead
//! of passing silently. With `ORCHESTRATE_PLACE` set (see the root's `tests/`), only the tests run
//! that take the strongest tier of the machine: as another user or without bubblewrap, that is
//! another one.

#![expect(
    clippy::disallowed_methods,
    reason = "tests look at the files from outside the tools"
)]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod builtin;
mod execute;
mod probe;
mod registered;
mod rules;
mod support;

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread;

use libtest_mimic::{Arguments, Trial};

macro_rules! cases {
    ($($room:ident::$module:ident: $($name:ident)*;)*) => {
        vec![$($(
            support::trial(concat!(stringify!($room), "::", stringify!($module), "::", stringify!($name)), |stand| Box::pin($room::$module::$name(stand)))
        ),*),*]
    };
}

macro_rules! confined_cases {
    ($($room:ident::$module:ident: $($name:ident)*;)*) => {
        vec![$($(
            support::confined(concat!(stringify!($room), "::", stringify!($module), "::", stringify!($name)), |stand| Box::pin($room::$module::$name(stand)))
        ),*),*]
    };
}

macro_rules! full_tier_cases {
    ($($room:ident::$module:ident: $($name:ident)*;)*) => {
        vec![$($(
            support::of_full_tier(concat!(stringify!($room), "::", stringify!($module), "::", stringify!($name)), |stand| Box::pin($room::$module::$name(stand)))
        ),*),*]
    };
}

macro_rules! cases_of_tiers {
    ($($room:ident::$module:ident: $($name:ident)*;)*) => {
        [vec![$($(
            support::of_tiers(concat!(stringify!($room), "::", stringify!($module), "::", stringify!($name)), |stand| Box::pin($room::$module::$name(stand)))
        ),*),*]].into_iter().flatten().flatten()
    };
}

macro_rules! needing_cases {
    ($room:ident::$module:ident: $($need:ident: $($name:ident)*;)*) => {
        [vec![$($(
            support::needing(
                concat!(stringify!($room), "::", stringify!($module), "::", stringify!($name)),
                builtin::programs::$need,
                |stand| Box::pin($room::$module::$name(stand)),
            )
        ),*),*]].into_iter().flatten().flatten()
    };
}

fn main() -> ExitCode {
    orchestrate_sandbox::run_helper_if_asked();
    tracing::subscriber::set_global_default(execute::records::Log).unwrap();
    let mut trials = trials_of_the_strongest_tier();
    if std::env::var_os("ORCHESTRATE_PLACE").is_none() {
        trials.extend(other_trials());
    }
    libtest_mimic::run(&arguments(), trials).exit_code()
}

/// Returns the tests that run in the strongest tier of the machine, so they depend on where they
/// run.
fn trials_of_the_strongest_tier() -> Vec<Trial> {
    confined_cases! {
        registered::aliases: every_alias_is_called_in_the_form_of_its_product what_another_product_alone_can_do_is_refused;
        rules::approvals: an_allowed_command_is_confined_whatever_its_file_says;
        registered::documents: tools_are_called_as_the_documents_call_them;
        execute::failures: a_program_that_is_absent_is_replaced a_command_that_changed_nothing_gets_more_time
            a_command_ended_in_the_middle_names_what_it_changed;
        rules::hostile: nothing_and_a_dot_name_the_root;
        rules::permission_check: a_call_is_decided_as_by_the_executor a_choice_that_rules_judge_differently_is_not_known
            words_that_a_tool_does_not_take_are_explained;
        rules::limits: a_command_and_an_agent_have_their_processor_time
            commands_share_the_rest_of_their_agents_processor_time a_command_is_cut_off_at_the_configured_time_and_memory;
        builtin::commands: the_exit_code_comes_last a_failing_command_keeps_its_output a_command_out_of_time_shows_what_it_said
        a_command_killed_at_the_longest_limit_says_so
            a_long_output_is_cut_and_kept the_environment_is_not_inherited a_command_starts_inside_the_worktree_only
            a_command_with_a_network_is_not_run_again a_cancelled_command_is_interrupted;
        registered::wrapped: one_value_fills_one_word_and_is_no_option a_wrapper_without_a_command_calls_the_wrapped_tool
            a_program_that_is_absent_is_named rules_hold_for_program_and_arguments a_role_has_a_wrapper_only_if_it_may_run_it
            shipped_and_strange_wrappers_conform;
        builtin::programs: a_project_without_tests_is_told_so arguments_that_look_like_options_are_refused
            a_rule_about_commands_holds_for_programs_that_a_tool_chooses files_outside_are_refused_and_absent_ones_named
            reports_of_parts_at_any_depth_are_read reports_and_exit_code_have_to_agree
            what_is_not_installed_is_named a_script_needs_the_permission_to_run_code;
        builtin::leftovers: maven_and_gradle_leave_nothing;
    }
}

/// Returns the tests that name their tier or start no confined process.
fn other_trials() -> Vec<Trial> {
    let mut trials = unconfined_trials();
    trials.extend(cases! {
        builtin::commands: what_a_command_used_is_recorded a_strangers_command_that_cannot_end_is_an_error;
    });
    trials.extend(cases_of_tiers! {
        builtin::commands: what_a_command_used_is_recorded a_strangers_tool_runs_a_command only_a_tier_with_sockets_of_its_own_has_a_network;
        builtin::packages: packages_are_installed_behind_the_proxy_alone an_installation_ends_at_its_time_limit;
        registered::wrapped: the_example_of_the_reference_finds_the_files nothing_is_split_or_interpreted a_wrapper_cannot_leave_the_sandbox;
    });
    trials.extend(full_tier_cases! {
        builtin::commands: the_network_is_asked_for_by_its_hosts;
        builtin::packages: what_the_project_lacks_is_said_before_anybody_is_asked a_call_that_installs_is_asked_about the_user_sees_what_an_installation_reaches_and_only_that_is
            a_registry_that_wants_a_password_is_for_the_user a_call_asks_for_the_hosts_that_it_names
            an_index_that_cannot_be_asked_is_not_replaced a_project_says_which_manager_installs
            the_tool_for_packages_conforms;
    });
    trials.extend(needing_cases! { builtin::programs:
        CARGO: tests_of_cargo_are_counted_and_placed what_a_test_of_cargo_prints_does_not_count
            a_test_program_of_cargo_that_crashes_is_named code_of_rust_is_checked_and_formatted
            a_named_file_of_rust_is_formatted_alone_with_its_own_edition;
        NEXTEST: nextest_is_used_where_the_project_is_set_up_for_it;
        PYTHON: tests_of_unittest_are_counted_and_placed a_script_runs_isolated_with_its_limits a_script_has_the_time_of_the_reference
            a_virtual_environment_is_made_and_used the_tools_for_python_conform code_of_python_is_judged_as_in_a_shell;
        PYTEST: tests_of_pytest_are_counted_and_placed;
        RUFF: ruff_lists_findings_and_formats;
        MYPY: mypy_lists_findings;
        NODE: tests_of_node_are_counted_and_placed;
        GO: tests_of_go_are_counted_and_placed;
        CTEST: tests_of_ctest_are_counted reports_that_rules_hide_are_named;
        MAKE: a_target_of_make_passes_or_fails;
    });
    trials.extend(needing_cases! { builtin::leftovers:
        CARGO: the_programs_of_rust_leave_nothing a_file_that_git_ignores_or_stores_is_kept;
        PYTEST: pytest_and_scripts_leave_nothing;
        RUFF: ruff_leaves_nothing;
        MYPY: mypy_leaves_nothing;
        NODE: node_leaves_nothing;
        GO: the_programs_of_go_leave_nothing;
        CTEST: ctest_leaves_nothing ctest_builds_where_git_ignores_it ctest_does_not_build_among_files_of_the_project;
    });
    trials
}

/// Returns the arguments of the harness: two tests for each processor, as a test mostly waits for
/// the programs that it has started.
fn arguments() -> Arguments {
    let mut arguments = Arguments::from_args();
    arguments
        .test_threads
        .get_or_insert(2 * thread::available_parallelism().map_or(1, NonZeroUsize::get));
    arguments
}

/// Returns the tests that start no confined process.
fn unconfined_trials() -> Vec<Trial> {
    cases! {
        builtin::analysis: a_file_and_a_folder_are_outlined an_outline_says_what_is_public code_is_found_by_its_structure
            functions_are_measured_the_hardest_first code_that_resembles_a_snippet_is_found what_is_not_understood_is_said an_analysis_has_limits
            rules_hold_for_analysed_files a_kept_result_is_that_of_the_file agents_share_what_they_analysed
            the_hottest_functions_of_a_profile_are_found benchmarks_are_found_below_their_folder what_is_no_profile_is_said;
        rules::approvals: deny_goes_before_everything asking_parks_until_a_person_decides asking_is_refusing_without_a_person
            a_change_that_cannot_be_made_is_not_asked_about what_is_denied_is_not_looked_for what_cannot_run_is_not_asked_about
            what_cannot_be_read_is_not_asked_about what_no_service_can_do_is_not_asked_about an_approval_fits_one_call_only
            a_call_that_the_system_forbids_waits_for_a_person_the_second_time
            a_call_that_is_asked_about_tells_first_that_the_system_forbids_it what_must_not_be_read_is_not_told_of_a_change;
        execute::conformance: every_built_in_tool_conforms the_fields_of_results_are_in_the_reference violations_are_found;
        builtin::dependencies: a_project_and_its_parts_are_shown what_is_not_understood_is_said_and_not_fatal an_analysis_has_limits_and_bounds
            rules_and_ignore_files_hold installed_packages_are_not_the_projects_own only_what_a_manifest_lacks_is_called_undeclared;
        registered::documents: a_model_is_told_what_a_tool_says_of_itself file_tools_work_off_the_threads_of_the_runtime
            the_tools_of_a_run_share_values an_agent_keeps_notes;
        execute::errors: an_unknown_tool_is_answered_with_the_nearest_names arguments_that_do_not_fit_are_explained
            the_checks_come_in_their_order a_message_may_be_an_object a_call_that_waits_is_recorded_once_it_is_answered
            every_class_of_failure_passes_unchanged a_panic_is_a_failure_of_the_tool no_room_and_too_many_calls_are_refused
            a_recorder_that_fails_lets_nothing_run;
        execute::failures: each_class_of_failure_is_handled_by_its_strategy another_tool_answers_for_one_that_cannot
            a_configured_tool_answers_for_one_that_cannot a_call_that_another_tool_would_answer_is_asked_about
            a_class_out_of_order_is_refused_until_a_call_succeeds;
        builtin::files: a_file_is_read_in_numbered_pages a_long_page_is_recorded_once what_is_no_text_is_refused_with_its_type
            writing_makes_directories_and_keeps_the_mode a_file_is_written_in_the_encoding_that_is_asked_for
            an_edit_keeps_line_ends_and_mark syntax_errors_that_a_change_introduced_are_named
            every_language_and_tool_names_syntax_errors what_is_too_large_to_check_is_written_all_the_same
            an_edit_of_a_file_that_changed_is_refused what_was_seen_survives_a_resume edits_side_by_side_are_both_made deleting_keeps_what_was_there_and_is_recorded
            a_copy_of_a_deleted_file_is_read_by_the_rules_about_the_file text_is_appended_in_the_files_own_encoding
            files_are_copied_and_moved_but_replace_nothing the_facts_of_a_file_are_told a_patch_changes_every_file_or_none
            a_patch_that_fails_on_the_disk_is_undone a_patch_of_one_file_under_two_names_is_refused
            an_edit_keeps_the_encoding_of_a_file rules_about_reading_and_deleting_hold_for_tools_that_also_do_that directories_are_made_once nothing_temporary_stays_behind;
        rules::hostile: paths_that_leave_are_refused names_that_git_takes_are_written_and_shown_escaped links_are_not_followed_outside links_inside_work
            what_configures_agents_is_protected pipes_and_devices_do_not_hang hard_links_are_not_written
            a_huge_file_is_answered_with_its_size a_rule_holds_through_a_link swapped_directories_never_lead_outside
            swapped_files_are_not_searched;
        rules::limits: every_tool_that_touches_files_keeps_to_the_allowed_kinds
            a_configured_size_holds_for_every_tool_that_reads_or_writes_content the_reference_profile_holds
            a_forbidden_path_is_closed_under_every_name forbidden_files_are_neither_shown_nor_put_back_by_git;
        builtin::packages: what_is_no_package_is_refused a_refusal_names_the_registry_of_the_language nobody_is_asked_where_nothing_can_be_installed;
        rules::permissions: each_covers_the_tools_of_the_reference a_grant_needs_tool_and_permission;
        registered::plugins: a_plugins_tools_are_like_built_in_ones a_project_rewords_a_plugins_tool
            what_cannot_be_used_is_refused_by_its_name a_tool_that_panics_hangs_or_lies_fails_alone
            a_tool_that_never_ends_is_stopped_with_its_agent calls_that_never_end_are_not_made_again_and_again
            a_plugin_conforms a_closed_sandbox_starts_no_program;
        builtin::remotes: the_user_sees_what_is_pushed_and_exactly_that_is
            commits_of_the_user_are_not_published_unasked rules_decide_about_hosts_and_branches
            a_name_is_no_address_no_option_and_no_refspec a_server_that_is_away_stops_no_other_git_tool;
        registered::registry: a_strangers_tool_is_found_by_name_category_and_words;
        execute::records: a_start_is_recorded_before_the_effect aliases_are_recorded_under_their_own_names
            a_dropped_caller_leaves_no_call_open a_runtime_that_ends_records_interrupted a_long_result_is_cut_and_kept
            data_is_shaped_like_a_text_and_recorded_where_it_is_short
            calls_are_logged_without_secrets what_a_panic_says_is_redacted what_files_a_call_read_and_wrote_is_recorded
            the_processor_time_of_a_tool_is_recorded figures_are_kept_for_each_tool one_tool_serves_many_agents;
        execute::replay: an_answer_is_replayed_while_nothing_that_it_follows_from_changes
            an_analysis_is_replayed_until_a_file_changes another_rule_limit_or_argument_is_another_call only_answers_that_follow_from_files_are_replayed
            a_result_with_a_secret_is_not_stored;
        builtin::search: a_listing_honours_ignore_files_and_says_so files_are_found_by_glob_newest_first
            a_second_question_reads_only_what_may_match_or_has_changed
            text_is_found_with_its_lines a_search_that_is_too_broad_says_so what_a_rule_denies_is_not_shown
            a_cancelled_search_ends many_files_are_answered_in_order context_ends_with_the_last_hit_that_is_shown
            encodings_and_binary_files_are_known_in_small_and_large_files;
        builtin::web: a_page_is_fetched_as_markdown a_page_has_other_forms what_cannot_be_read_is_explained
            what_comes_from_outside_is_counted a_host_that_is_away_stops_no_other a_host_that_nobody_can_approve_is_named a_long_page_is_cut_and_says_so
            hosts_are_asked_about a_redirect_is_decided_again a_request_ends_with_its_agent
            a_page_of_documentation_has_its_parts the_chosen_service_searches
            the_models_endpoint_searches a_denied_host_is_left_out_of_what_is_found
            a_search_of_a_service_that_is_another_one_fails questions_and_repositories_are_found
            the_documentation_of_a_library_is_found the_project_says_where_a_library_is only_a_projects_own_registries_are_asked_about;
        registered::wrapped: a_name_has_two_forms arguments_must_be_an_array_of_strings;
    }
}
