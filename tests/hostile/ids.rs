//! The catalogue of attacks, by their ids, and the tests that show how each ends.
//!
//! Most are attacks of the table ([`super::table`]), tried in each tier, as root and as an ordinary
//! user. Some are about no sandbox and no user, and are shown by a test elsewhere in the suite,
//! which the long form runs as both, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;

use super::named;
use super::suites::Suite;
use super::table::{NO_CONTROL, PLAIN, Table, attack_of, row_of};
use super::who::Who;
use crate::support::Outcome;
use Shown::{Case, Row, Unit};

/// How many ids each letter has.
const COUNTS: [(&str, usize); 11] = [
    ("P", 15),
    ("C", 17),
    ("N", 11),
    ("G", 24),
    ("I", 8),
    ("R", 10),
    ("L", 9),
    ("K", 10),
    ("W", 7),
    ("S", 3),
    ("A", 4),
];

/// The main file of this program.
const CASES: &str = "tests/main.rs";

/// What shows how an attack ends.
#[derive(Clone, Copy, Debug)]
enum Shown {
    /// An attack of the table.
    Row(&'static str),
    /// A test of this program that is in no module of attacks.
    Case(&'static str),
    /// A test in a file of a crate that is in no module of attacks.
    Unit(&'static str, &'static str),
}

/// An attack, and what shows how it ends.
struct Attack {
    id: &'static str,
    what: &'static str,
    shown: &'static [Shown],
}

const fn attack(id: &'static str, what: &'static str, shown: &'static [Shown]) -> Attack {
    Attack { id, what, shown }
}

const LEAVE: Shown = Row("tools: rules::hostile::paths_that_leave_are_refused");
const LINKS: Shown = Row("tools: rules::hostile::links_are_not_followed_outside");
const GIT_DIRECTORY: Shown = Row("program: attacks::nothing_in_the_git_directory_is_written");
const NESTED: Shown = Row("program: attacks::a_filter_of_a_nested_repository_is_silent");
const TAMPERED: Shown = Row("git: attack::a_tampered_pointer_quarantines_the_worktree");
const POINTER: Shown = Row("program: attacks::a_tampered_git_file_is_silent");
const SPELLINGS: Shown =
    Row("core: policy::decision::spellings::every_spelling_of_a_denied_command_is_found");
const LINES: Shown = Row("core: policy::decision::command::tests::every_part_of_a_line_is_found");
const NOT_PLAIN: Shown =
    Row("core: policy::decision::command::tests::what_is_not_plain_words_is_opaque");
const PARTS: Shown =
    Row("core: policy::decision::tests::a_part_is_enough_to_deny_and_not_enough_to_allow");
const SPAWNING: &str = "crates/core/tests/it/agents/spawning.rs";
const TEMPLATES: &str = "crates/tools/src/template/command_template.rs";
const HIDDEN: &str = "crates/tools/src/template/hidden/tests.rs";
const WEB: &str = "crates/web/src/tests.rs";
const PROXY: &str = "crates/web/src/proxy/tests.rs";
const RETRY: &str = "crates/model/src/request/retry/tests.rs";
const TRANSPORT: &str = "crates/model/src/request/transport/tests.rs";
const WIRE: &str = "crates/model/src/wire/tests.rs";
const UNTRUSTED: &str = "crates/core/src/text/untrusted.rs";
const MEMORY: Shown = Row("program: attacks::nobody_reads_the_memory_of_a_run");
const LISTENS: &[Shown] = &[Row("program: attacks::nothing_of_a_run_listens")];

/// Paths.
#[rustfmt::skip]
const PATHS: &[Attack] = &[
    attack("P1", "paths out of the worktree, absolute ones, and those of a home", &[LEAVE]),
    attack("P2", "a folder beside the worktree whose name begins like it", &[LEAVE]),
    attack("P3", "a link of the agent's own to a file outside", &[LINKS, Row("sandbox: view::does_not_write_through_a_link")]),
    attack("P4", "a link of the repository's to a folder outside", &[LINKS]),
    attack("P5", "links that stay inside, and an absolute one", &[Row("tools: rules::hostile::links_inside_work")]),
    attack("P6", "folders that are swapped for links while tools open them", &[Row("tools: rules::hostile::swapped_directories_never_lead_outside"), Row("tools: rules::hostile::swapped_files_are_not_searched")]),
    attack("P7", "git's own files under any name", &[LEAVE, GIT_DIRECTORY]),
    attack("P8", "the files that configure agents, whether they exist or not", &[Row("tools: rules::hostile::what_configures_agents_is_protected"), Case("repair::what_configures_agents_goes_back_whoever_wrote_it")]),
    attack("P9", "pipes, sockets and devices in the place of files", &[Row("tools: rules::hostile::pipes_and_devices_do_not_hang"), LEAVE]),
    attack("P10", "a file that has another name outside", &[Row("tools: rules::hostile::hard_links_are_not_written"), Row("program: attacks::a_hard_link_leads_nowhere")]),
    attack("P11", "names with NUL, control characters, 4,097 bytes, or none", &[LEAVE, Row("tools: rules::hostile::names_that_git_takes_are_written_and_shown_escaped"), Row("tools: rules::hostile::nothing_and_a_dot_name_the_root")]),
    attack("P12", "a working directory elsewhere", &[LEAVE, Row("sandbox: view::refuses_a_directory_outside_as_cwd")]),
    attack("P13", "worktrees of others, the state of the run, the user's configuration", &[Row("sandbox: files_outside::read"), Row("sandbox: view::hides_the_users_home"), LEAVE]),
    attack("P14", "files of 30 GB, lines of megabytes, binary files", &[Row("tools: rules::hostile::a_huge_file_is_answered_with_its_size")]),
    attack("P15", "a kill between the temporary file and its renaming", &[Case("kill::a_half_written_file_is_not_committed"), Unit("crates/files/tests/files.rs", "a_file_is_replaced_in_one_step_and_keeps_its_mode")]),
];

/// Commands and permissions.
#[rustfmt::skip]
const COMMANDS: &[Attack] = &[
    attack("C1", "options of git that run programs or go elsewhere", &[SPELLINGS, PARTS, Row("core: policy::decision::programs::tests::what_a_command_may_run_is_known")]),
    attack("C2", "actions of `find` that run and delete", &[Row("core: policy::decision::spellings::what_hides_a_denied_command_is_found"), Case("programs::a_command_that_find_runs_is_seen")]),
    attack("C3", "lists, pipes, substitutions, redirections, comments and line ends", &[LINES, PARTS, NOT_PLAIN]),
    attack("C4", "programs that run other programs", &[Row("core: policy::decision::spellings::what_hides_another_program_is_found"), Case("programs::a_command_that_env_runs_is_seen"), Case("programs::a_command_that_xargs_runs_is_seen")]),
    attack("C5", "expansions that are commands", &[SPELLINGS, LINES, NOT_PLAIN]),
    attack("C6", "letters that look alike, and those that hide what follows", &[NOT_PLAIN, Case("approvals::no_word_of_a_call_is_kept_from_whoever_approves_it"), Unit("crates/core/src/text/invisible.rs", "two_names_never_look_alike")]),
    attack("C7", "variables that load code, from the model, the repository or an earlier call", &[Row("sandbox: view::gets_only_the_named_environment"), Unit("crates/tools/tests/suite/builtin/commands.rs", "the_environment_is_not_inherited")]),
    attack("C8", "programs in the repository with the names of ours", &[Row("program: attacks::a_program_in_the_repository_is_never_ours")]),
    attack("C9", "lines of a megabyte and of 10,000 commands", &[Row("core: policy::decision::command::tests::a_huge_line_is_too_complex"), Row("core: policy::decision::tests::a_command_that_cannot_be_judged_is_refused")]),
    attack("C10", "values of a template that are options, commands or several words", &[Unit(TEMPLATES, "slots_are_filled_word_by_word_and_nothing_is_split_again"), Unit(TEMPLATES, "one_value_is_no_option"), Unit("crates/tools/tests/suite/registered/wrapped.rs", "nothing_is_split_or_interpreted")]),
    attack("C11", "templates whose program is a variable, and those that are scripts", &[Unit(TEMPLATES, "a_template_is_no_shell_command"), Unit(HIDDEN, "a_hidden_shell_or_interpreter_is_found"), Unit("crates/tools/src/wrapped/definition/tests.rs", "every_mistake_has_its_line_and_its_reason")]),
    attack("C12", "branches, refs, paths and addresses that are options or commands to git", &[Case("git_tools::hostile_names_and_paths_are_refused"), Case("git_remotes::only_an_agents_own_branch_is_pushed"), Unit("crates/git/tests/it/remote.rs", "the_address_is_the_one_that_git_would_use")]),
    attack("C13", "a call that is another one once it is approved", &[Case("approvals::what_is_approved_is_what_was_shown"), Unit("crates/core/src/run/parked_call.rs", "each_part_of_a_call_is_part_of_its_hash")]),
    attack("C14", "an approval that is used for other calls", &[Unit("crates/tools/tests/suite/rules/approvals.rs", "an_approval_fits_one_call_only"), Unit("crates/tools/tests/suite/rules/approvals.rs", "an_allowed_command_is_confined_whatever_its_file_says")]),
    attack("C15", "many approvals at once, two of them alike", &[Case("approvals::each_of_two_like_calls_is_asked_about"), Case("approvals::a_terminal_shows_the_whole_call_and_asks"), Unit("crates/core/tests/it/agents/waiting.rs", "an_answer_lets_one_of_many_calls_run")]),
    attack("C16", "children with more than their parent, too many, or too deep", &[Case("spawning::a_child_gets_no_more_than_its_parent_has"), Case("spawning::too_many_children_are_refused"), Unit(SPAWNING, "tools_are_narrowed_and_never_widened"), Unit(SPAWNING, "a_budget_comes_from_the_parent"), Unit(SPAWNING, "children_are_bounded_in_number_and_depth"), Unit(SPAWNING, "children_that_have_ended_do_not_count")]),
    attack("C17", "a rule that asks where nobody answers", &[Unit("crates/tools/tests/suite/rules/approvals.rs", "asking_is_refusing_without_a_person"), Unit("crates/settings/src/merge.rs", "nobody_to_ask_means_refused_unless_told_otherwise"), Case("approvals::asking_nobody_fails_with_a_code_of_its_own")]),
];

/// The network.
#[rustfmt::skip]
const NETWORK: &[Attack] = &[
    attack("N1", "hosts whose names contain that of an allowed one", &[Row("core: policy::decision::tests::hosts_match_label_by_label"), Unit("crates/core/src/policy/host/name.rs", "what_names_no_host_is_refused"), Row("program: attacks::a_program_reaches_no_other_host")]),
    attack("N2", "addresses of this machine and its network in any spelling", &[Row("core: policy::decision::limit_tests::only_a_host_that_the_user_names_leads_to_addresses_and_ports_of_its_own"), Unit("crates/core/src/policy/host/address.rs", "no_local_address_is_global"), Unit("crates/core/src/policy/host/name.rs", "every_spelling_of_an_address_is_that_address"), Row("program: attacks::a_spelling_is_no_other_host")]),
    attack("N3", "redirects to such addresses, to other schemes, and without end", &[Unit(WEB, "each_redirect_is_asked_about"), Unit(WEB, "redirects_without_end_are_given_up"), Unit(PROXY, "each_request_of_a_connection_is_decided")]),
    attack("N4", "a name that leads elsewhere once it is dialled", &[Unit(WEB, "what_was_decided_is_what_is_dialled"), Unit(PROXY, "an_address_that_changes_is_not_dialled_and_not_asked_for_again")]),
    attack("N5", "connections past every proxy, of every protocol", &[Row("sandbox: network::tcp"), Row("sandbox: network::udp"), Row("sandbox: network::fast-open"), Row("sandbox: network::mptcp"), Row("sandbox: network::netlink"), Row("sandbox: kernel::vsock"), Row("sandbox: kernel::packet"), Row("program: attacks::a_program_does_not_go_past_its_proxy"), Row("sandbox: network::tcp-swapped"), Row("sandbox: network::listens-for-others"), Row("sandbox: shared_memory::shared-memory-of-others")]),
    attack("N6", "sockets of services in the file system and beside it", &[Row("sandbox: sockets_outside::unix"), Row("sandbox: sockets_outside::unix-datagram"), Row("sandbox: sockets_outside::abstract"), Row("sandbox: with_network::unix")]),
    attack("N7", "lists of hosts that are empty, malformed or for everything", &[Unit("crates/core/src/policy/host/pattern.rs", "nothing_stands_for_all_hosts"), Case("tool_settings::what_is_wrong_is_named_with_the_nearest_key"), Row("core: policy::decision::limit_tests::hosts_that_are_not_listed_are_asked_about")]),
    attack("N8", "a relay within the sandbox", &[Unit(PROXY, "what_names_another_host_or_none_is_refused_and_recorded"), Row("sandbox: network::tcp")]),
    attack("N9", "a tunnel to another host or port than was asked for", &[Row("core: policy::decision::limit_tests::only_a_host_that_the_user_names_leads_to_addresses_and_ports_of_its_own"), Row("sandbox: network::tcp"), Row("program: attacks::a_tunnel_leads_nowhere_else"), Unit(PROXY, "a_tunnel_that_leads_elsewhere_is_closed")]),
    attack("N10", "responses without end, slow ones, bombs, and a million headers", &[Unit(WEB, "content_that_never_ends_is_cut_at_its_size_or_its_time"), Unit(WEB, "what_decompresses_to_much_or_to_nothing_is_cut"), Unit(WEB, "a_response_with_too_much_around_its_content_is_refused"), Unit(PROXY, "what_has_too_much_around_it_is_refused"), Unit(PROXY, "a_program_that_is_slow_is_let_go")]),
    attack("N11", "names that carry data to a server of names", &[Row("sandbox: network::udp"), Unit(PROXY, "a_program_cannot_ask_for_hosts_without_end")]),
];

/// Git.
#[rustfmt::skip]
const GIT: &[Attack] = &[
    attack("G1", "a `.git` file that leads to a git directory of the agent's", &[POINTER, TAMPERED]),
    attack("G2", "a configuration that names another worktree", &[POINTER, GIT_DIRECTORY, Row("git: attack::a_worktree_elsewhere_is_not_written")]),
    attack("G3", "hooks and the folder of hooks", &[Row("program: attacks::a_file_system_monitor_is_silent"), GIT_DIRECTORY, Case("land_styles::hooks_are_named_and_not_run")]),
    attack("G4", "a repository within the worktree", &[NESTED, Row("git: attack::a_nested_repository_runs_nothing_and_loses_nothing")]),
    attack("G5", "another common directory", &[GIT_DIRECTORY, TAMPERED]),
    attack("G6", "a configuration of one worktree", &[GIT_DIRECTORY, TAMPERED]),
    attack("G7", "other branches, worktrees and unreachable commits", &[GIT_DIRECTORY]),
    attack("G8", "the shared stash", &[GIT_DIRECTORY, Case("git_tools::changes_are_set_aside_for_one_agent")]),
    attack("G9", "locks that keep everybody out", &[GIT_DIRECTORY, Row("program: attacks::the_repository_cannot_be_locked")]),
    attack("G10", "attributes that name the user's own drivers", &[Row("git: attack::attributes_and_local_drivers_run_nothing")]),
    attack("G11", "submodules that run commands or lead elsewhere", &[Row("git: attack::a_submodule_folder_runs_nothing"), Unit("crates/git/tests/it/worktree/submodules.rs", "what_the_repository_lacks_is_left_empty_with_a_warning"), Unit("crates/git/tests/it/worktree/submodules.rs", "bringing_a_submodule_runs_nothing_of_it"), Unit("crates/core/src/text/git_path.rs", "a_link_is_never_the_file_of_submodules")]),
    attack("G12", "repositories in every odd state", &[Unit("crates/git/tests/it/refuse.rs", "bare_and_unborn"), Unit("crates/git/tests/it/refuse.rs", "in_the_middle_of_something"), Unit("crates/git/tests/it/refuse.rs", "other_formats"), Unit("crates/git/tests/it/refuse.rs", "no_repository"), Unit("crates/git/tests/it/refuse.rs", "sparse_and_split"), Unit("crates/git/tests/it/refuse.rs", "a_shallow_clone_is_warned_of"), Unit("crates/git/tests/it/refuse.rs", "odd_but_fine_repositories_open"), Unit("crates/git/tests/it/refuse.rs", "warnings_are_no_refusals"), Unit("crates/git/tests/it/store/snapshot.rs", "line_ends_are_converted_if_the_user_has_git_do_so"), Case("bad_input::a_repository_of_another_user_is_refused"), Case("bad_input::a_bare_repository_is_refused"), Case("bad_input::a_read_only_repository_is_refused")]),
    attack("G13", "a checkout with changes of every kind", &[Case("bad_input::a_dirty_tree_and_a_detached_head_are_warnings"), Unit("crates/git/tests/it/land.rs", "landing_and_undoing_keep_the_users_changes")]),
    attack("G14", "a base branch that moves or goes during the run", &[Case("bad_input::a_base_branch_that_moves_is_landed_on"), Case("bad_input::a_base_branch_that_goes_is_not_landed_on"), Unit("crates/git/tests/it/merge.rs", "refs_move_by_compare_and_swap")]),
    attack("G15", "two runs at once", &[Case("subcommands::two_runs_work_side_by_side")]),
    attack("G16", "a user who packs, prunes and cleans during the run", &[Unit("crates/git/src/repo/gc.rs", "git_leaves_a_repository_alone_as_long_as_it_is_held"), Unit("crates/git/tests/it/merge.rs", "what_was_kept_is_never_let_go"), Unit("crates/git/tests/it/worktree/worktrees.rs", "a_user_who_packs_prunes_and_cleans_loses_no_work"), Case("kill::a_worktree_deleted_by_hand_is_made_again")]),
    attack("G17", "locks that a killed git left", &[Unit("crates/git/tests/it/worktree/worktrees.rs", "left_locks_of_ours_are_removed"), Unit("crates/git/tests/it/refs.rs", "a_locked_ref_is_named_and_moved_once_the_lock_is_gone")]),
    attack("G18", "conflicts of every kind", &[Unit("crates/git/tests/it/merge.rs", "conflicts_are_listed_by_file_and_kind"), Unit("crates/git/tests/it/merge.rs", "conflicts_of_every_kind_are_listed_and_agreement_is_none"), Unit("crates/git/tests/it/merge.rs", "each_of_ten_thousand_conflicts_is_listed"), Unit("crates/git/tests/it/conflict.rs", "what_has_no_markers_is_untouched_until_it_is_written_or_deleted")]),
    attack("G19", "more files than anybody wants to commit", &[Row("sandbox: limits::many_small_files_count"), Case("bounds::what_takes_all_memory_or_disk_fails_alone"), Unit("crates/git/tests/it/store/snapshot.rs", "many_new_files_are_stored_as_git_does")]),
    attack("G20", "files that no commit has when a worktree is cleaned", &[Case("land::cleaning_keeps_what_git_ignores_until_told"), Unit("crates/git/tests/it/worktree/worktrees.rs", "only_kept_work_is_removed")]),
    attack("G21", "a parent that ends while its child works", &[Case("spawning::a_parent_is_ended_while_its_child_merges"), Case("merge_targets::a_finished_parent_waits_for_its_children")]),
    attack("G22", "identities, signatures with a passphrase, and hooks that are required", &[Case("land_styles::the_identity_is_that_of_git_commit"), Case("land_styles::what_cannot_be_signed_does_not_land"), Case("land_styles::a_key_with_a_passphrase_is_not_waited_for"), Case("land_styles::hooks_run_as_gits_own_on_request")]),
    attack("G23", "names that git or a shell takes for something else", &[Unit("crates/core/src/ids.rs", "branch_components_are_plain_where_git_allows_it"), Unit("crates/git/tests/it/refs.rs", "each_id_has_a_branch_that_git_takes"), Unit("crates/core/src/ids.rs", "ids_that_would_confuse_are_refused"), Unit("crates/core/src/run/child_id.rs", "every_title_yields_a_valid_id")]),
    attack("G24", "`git init` within the worktree, whose files would be lost", &[NESTED, Row("git: attack::a_nested_repository_runs_nothing_and_loses_nothing")]),
];

/// Injected text, and messages.
#[rustfmt::skip]
const INJECTION: &[Attack] = &[
    attack("I1", "text that gives orders, and a model that obeys", &[Row("program: attacks::text_from_outside_sends_no_private_data_out"), Unit(UNTRUSTED, "a_block_tells_its_origin_apart")]),
    attack("I2", "text that ends its block, or passes for another turn", &[Case("evidence::nothing_passes_for_a_persons_message"), Unit(UNTRUSTED, "no_material_contains_its_own_mark"), Unit(UNTRUSTED, "a_number_within_the_material_is_passed_over")]),
    attack("I3", "a message that claims another sender", &[Case("evidence::nothing_passes_for_a_persons_message"), Unit("crates/core/src/messages/message.rs", "a_body_cannot_pass_for_another_message")]),
    attack("I4", "messages to nobody, to everybody, and without end", &[Case("messages::an_unknown_recipient_is_the_senders_error"), Case("messages::a_thousand_at_once_are_bounded_and_answered"), Case("questions::a_flood_is_bounded")]),
    attack("I5", "orders in a child's report", &[Case("aggregate::orders_in_a_report_stay_in_its_block"), Unit("crates/coordinator/src/texts/task_message.rs", "what_a_child_is_given_keeps_within_the_bound_and_its_block"), Unit("crates/core/src/agent/conversation.rs", "our_own_words_stand_outside_the_block"), Unit("crates/core/src/secrecy/taint/tests.rs", "a_child_that_has_read_the_web_taints_its_parent_when_it_ends")]),
    attack("I6", "tools that change after consent, or take the names of others", &[Case("tool_files::a_projects_file_counts_once_its_content_is_trusted"), Unit("crates/tools/tests/suite/registered/plugins.rs", "what_cannot_be_used_is_refused_by_its_name")]),
    attack("I7", "plans with hidden text, bombs, and keys that widen", &[Unit("crates/plan/src/tests/parsing.rs", "hidden_text_and_unused_keys_are_warned_of"), Unit("crates/plan/src/front_matter.rs", "a_bomb_of_aliases_is_refused"), Unit("crates/plan/src/tests/parsing.rs", "front_matter_is_read_and_checked"), Unit("crates/settings/src/merge.rs", "a_repository_narrows_limits_and_never_widens_them")]),
    attack("I8", "one agent with outside text, private data and a way out", &[Row("program: attacks::text_from_outside_sends_no_private_data_out"), Row("program: attacks::what_one_agent_has_read_outside_counts_for_the_next"), Row("program: attacks::a_command_sees_no_work_of_others")]),
];

/// Exhausted resources.
#[rustfmt::skip]
const RESOURCES: &[Attack] = &[
    attack("R1", "fork bombs and daemons", &[Row("sandbox: lifetime::fork_bomb_is_bounded"), Row("sandbox: lifetime::returns_when_the_command_exits_and_ends_daemons"), Row("sandbox: lifetime::nothing_survives_the_coordinator")]),
    attack("R2", "output without end", &[Row("sandbox: lifetime::output_limit_ends_the_job"), Row("sandbox: lifetime::keeps_head_and_tail")]),
    attack("R3", "all memory, all of the disk, all inodes", &[Row("sandbox: lifetime::memory_is_bounded"), Row("sandbox: limits::processor_time_is_bounded"), Row("sandbox: limits::a_full_worktree_ends_the_command_alone"), Row("sandbox: limits::many_small_files_count"), Row("sandbox: limits::too_many_files_end_the_command_alone"), Case("bounds::what_takes_all_memory_or_disk_fails_alone")]),
    attack("R4", "commands that never end and ignore signals", &[Row("sandbox: lifetime::time_limit_ends_daemons"), Row("sandbox: lifetime::a_kill_asks_nobody")]),
    attack("R5", "archives that are bombs: no tool unpacks any but the web's compression", &[Unit(WEB, "what_decompresses_to_much_or_to_nothing_is_cut")]),
    attack("R6", "patterns, code and JSON that take for ever", &[Unit("crates/tools/tests/suite/builtin/search.rs", "a_search_that_is_too_broad_says_so"), Unit("crates/git/src/files/glob.rs", "a_hostile_pattern_takes_no_longer_than_others"), Unit("crates/html/src/tests.rs", "a_hostile_page_takes_time_like_its_length"), Unit("crates/code/tests/bad_input.rs", "deep_nesting_overflows_no_stack"), Unit("crates/model/src/wire/arguments.rs", "only_an_object_counts")]),
    attack("R7", "an agent that repeats itself", &[Case("bounds::an_agent_that_repeats_itself_ends"), Unit("crates/core/src/agent/agent_loop/repeated_calls.rs", "only_what_the_agent_repeats_itself_is_a_loop"), Unit("crates/core/src/agent/agent_loop/tests.rs", "waiting_and_hearing_are_no_loop"), Case("waits::asking_and_waiting_again_is_no_loop")]),
    attack("R8", "a budget that ends in the middle of a call", &[Case("bounds::a_tasks_budget_ends_it"), Case("bounds::the_runs_budget_is_never_exceeded"), Case("bounds::a_person_gives_a_run_more_tokens")]),
    attack("R9", "more agents than open files", &[Case("bad_input::too_few_open_files_are_refused")]),
    attack("R10", "commands that switch their limits off", &[Row("sandbox: watched::watcher-files"), Row("sandbox: watched::watcher-stop"), Row("sandbox: watched::memory_is_limited_whatever_a_command_tries"), Row("sandbox: watched::what_cannot_be_seen_counts_as_too_much"), Unit("crates/sandbox/src/helper/filter/seccomp.rs", "no_call_of_the_table_changes_or_stops_the_supervisor")]),
];

/// Endpoints of models.
#[rustfmt::skip]
const ENDPOINTS: &[Attack] = &[
    attack("L1", "statuses and delays of every kind", &[Unit("crates/model/src/wire/fault.rs", "delays_are_read_in_every_form"), Unit(RETRY, "the_providers_word_is_kept_up_to_a_limit"), Unit(RETRY, "what_breaks_is_asked_a_few_times_and_what_is_refused_never"), Unit(TRANSPORT, "each_refusal_says_what_to_do_next_and_never_the_key"), Case("models::a_wrong_key_parks_the_task")]),
    attack("L2", "connections that are refused, reset or silent", &[Unit(TRANSPORT, "silence_and_floods_end"), Unit(TRANSPORT, "a_connection_that_breaks_is_a_retryable_error"), Unit(TRANSPORT, "nobody_there_is_said_with_the_url"), Case("models::a_stream_without_its_end_runs_no_tool")]),
    attack("L3", "events that are split, mixed, huge or unknown", &[Unit("crates/model/src/wire/sse.rs", "every_cut_and_every_line_end_gives_the_same_events"), Unit("crates/model/src/wire/sse.rs", "the_limit_counts_data_and_the_open_line"), Unit(WIRE, "chat_takes_errors_out_of_a_successful_stream")]),
    attack("L4", "arguments that are no object, or not what a tool takes", &[Case("evidence::bad_arguments_of_any_size_can_be_mended"), Unit("crates/model/src/wire/arguments.rs", "only_an_object_counts"), Unit("crates/tools/src/tool/arguments.rs", "a_mistake_names_the_field_what_was_expected_and_what_came")]),
    attack("L5", "tools that do not exist, and names of a megabyte", &[Unit("crates/core/src/agent/conversation.rs", "ids_and_names_are_bounded"), Unit("crates/tools/tests/suite/execute/errors.rs", "an_unknown_tool_is_answered_with_the_nearest_names"), Unit("crates/tools/tests/suite/execute/errors.rs", "the_checks_come_in_their_order")]),
    attack("L6", "ids that repeat, and hundreds of calls at once", &[Unit(WIRE, "chat_gives_ids_where_there_are_none_or_equal_ones"), Unit(WIRE, "ids_and_bad_arguments_are_bounded"), Unit(WIRE, "chat_bounds_what_a_reply_may_be"), Case("models::parallel_calls_are_all_answered")]),
    attack("L7", "arguments and contents of many megabytes", &[Unit(WIRE, "chat_bounds_the_content_of_a_reply_in_every_form"), Unit(WIRE, "messages_bounds_inputs_that_come_whole"), Case("evidence::bad_arguments_of_any_size_can_be_mended")]),
    attack("L8", "usage that is missing or absurd", &[Unit(WIRE, "chat_estimates_what_it_is_not_told_and_what_cannot_be")]),
    attack("L9", "a repository that names the endpoint, a proxy or certificates", &[Row("program: attacks::a_repository_chooses_no_endpoint")]),
];

/// Crashes.
#[rustfmt::skip]
const CRASHES: &[Attack] = &[
    attack("K1", "a kill at each durable step", &[Case("kill::after_an_append_the_run_is_resumed_to_the_same_end"), Case("kill::before_an_append_the_run_is_resumed_to_the_same_end"), Case("kill::at_an_append_a_landing_is_finished_by_the_next")]),
    attack("K2", "a kill while tools run", &[Case("kill::a_command_dies_with_its_coordinator_and_is_reported_as_interrupted"), Row("sandbox: lifetime::nothing_survives_the_coordinator")]),
    attack("K3", "a disk that is full or cannot be written", &[Case("kill::a_full_disk_loses_nothing"), Case("bad_input::a_real_full_disk_loses_nothing"), Case("bad_input::a_read_only_state_is_refused"), Case("bad_input::too_few_open_files_are_refused")]),
    attack("K4", "a loss of power", &[Unit("crates/git/src/repo/repository.rs", "what_is_written_is_synced"), Unit("crates/journal/tests/journal/crash.rs", "killed_amid_many_writers_every_acknowledged_fact_is_there")]),
    attack("K5", "a journal that is damaged, of another format, or none", &[Unit("crates/journal/tests/journal/damage.rs", "a_truncated_journal_is_refused"), Unit("crates/journal/tests/journal/damage.rs", "bytes_that_are_no_database_are_refused"), Unit("crates/journal/tests/journal/damage.rs", "damage_inside_is_found_when_it_is_read"), Unit("crates/journal/tests/journal/damage.rs", "another_format_is_refused_by_name")]),
    attack("K6", "signals, a closed terminal, a machine that sleeps", &[Case("signals::ctrl_c_twice_stops_and_the_run_goes_on_later"), Case("signals::a_closed_terminal_stops_the_run"), Unit("crates/journal/tests/journal/sequencer.rs", "the_time_in_which_the_machine_sleeps_does_not_count")]),
    attack("K7", "a second process on the same run", &[Case("cli::a_second_coordinator_is_refused_with_the_firsts_pid")]),
    attack("K8", "a state folder on an unfit file system", &[Unit("crates/journal/tests/journal/damage.rs", "a_folder_that_can_hold_no_journal_is_refused_by_name"), Unit("crates/journal/src/database.rs", "file_systems_of_other_machines_are_known_by_their_types"), Case("bad_input::a_state_inside_the_checkout_is_refused")]),
    attack("K9", "children that are spawned around a crash", &[Case("kill::after_an_append_spawned_agents_are_resumed_to_the_same_end"), Unit("crates/core/tests/it/agents/spawning.rs", "a_repeated_call_spawns_once")]),
    attack("K10", "a machine whose sandbox does not start", &[Case("demo::what_starts_a_sandbox_keeps_to_the_required_tier"), Unit("crates/sandbox/src/run/probe.rs", "names_the_switch_that_forbids_namespaces")]),
];

/// The web pages that there are not, secrets, and the audit log.
#[rustfmt::skip]
const REST: &[Attack] = &[
    attack("W1", "a page without its token: there is no page, and nothing listens", LISTENS),
    attack("W2", "a page under another host's name: nothing listens", LISTENS),
    attack("W3", "a page asked by another origin: nothing listens", LISTENS),
    attack("W4", "files beside a page: nothing listens", LISTENS),
    attack("W5", "scripts in a page: nothing listens", LISTENS),
    attack("W6", "a page for the whole network: nothing listens", LISTENS),
    attack("W7", "a page within another one: nothing listens", LISTENS),
    attack("S1", "keys in the environment of our processes", &[Row("sandbox: processes_outside::environ"), Row("sandbox: view::gets_only_the_named_environment"), MEMORY]),
    attack("S2", "keys in arguments, files, output and errors", &[Case("secrets::what_a_tool_reads_is_redacted"), Case("secrets::what_a_server_echoes_is_shown_to_nobody"), Case("run_logs::a_secret_in_an_argument_is_in_no_log"), Case("models::a_key_in_a_base_url_is_kept_nowhere"), Unit("crates/tools/tests/suite/execute/records.rs", "what_a_panic_says_is_redacted")]),
    attack("S3", "keys in command lines, in git's configuration, in dumps", &[Row("program: attacks::a_token_beside_the_commits_is_unreadable"), Row("sandbox: processes_outside::cmdline"), Row("sandbox: processes_outside::process-memory"), MEMORY]),
    attack("A1", "an audit log that was changed", &[Case("run_logs::a_changed_audit_log_is_found_out"), Unit("crates/core/src/projections/audit/tests.rs", "each_kind_of_damage_is_found_at_its_line")]),
    attack("A2", "an agent that writes or locks the audit log", &[Row("sandbox: files_outside::write"), Row("sandbox: files_outside::flock"), Case("run_logs::a_full_disk_below_the_audit_log_stops_no_run")]),
    attack("A3", "effects that no record precedes", &[Unit("crates/tools/tests/suite/execute/records.rs", "a_start_is_recorded_before_the_effect"), Unit("crates/tools/tests/suite/execute/errors.rs", "a_recorder_that_fails_lets_nothing_run")]),
    attack("A4", "logs that others can read", &[Case("private::what_a_run_makes_is_its_users_alone_full"), Unit("crates/coordinator/src/run/machine/logs.rs", "a_log_is_created_for_its_owner_alone"), Unit("crates/files/tests/umask.rs", "what_is_made_is_private_whatever_the_umask")]),
];

fn all() -> impl Iterator<Item = &'static Attack> {
    [
        PATHS, COMMANDS, NETWORK, GIT, INJECTION, RESOURCES, ENDPOINTS, CRASHES, REST,
    ]
    .into_iter()
    .flatten()
}

/// Shows that each id is there once, with tests that exist.
pub(super) fn each_id_names_its_tests() -> Outcome {
    let expected = COUNTS
        .iter()
        .flat_map(|(letter, count)| (1..=*count).map(move |number| format!("{letter}{number}")));
    let expected: BTreeSet<String> = expected.collect();
    let mut found = BTreeSet::new();
    let mut wrong: Vec<String> = Vec::new();
    let cases: BTreeSet<String> = crate::cases()
        .iter()
        .map(|case| case.name().to_owned())
        .collect();
    for attack in all() {
        if !found.insert(attack.id.to_owned()) || attack.what.is_empty() || attack.shown.is_empty()
        {
            wrong.push(format!("{} is there twice, or without a test", attack.id));
        }
        for shown in attack.shown {
            if !exists(*shown, &cases)? {
                wrong.push(format!("{}: there is no {shown:?}", attack.id));
            }
        }
    }
    wrong.extend(
        expected
            .symmetric_difference(&found)
            .map(|id| format!("{id} is left out, or no id")),
    );
    if exists(
        Row("core: policy::decision::command::a_huge_line_is_too_complex"),
        &cases,
    )? {
        wrong.push("a row without the module of its test passes".to_owned());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Reports whether a test exists, as far as the sources say it.
fn exists(shown: Shown, cases: &BTreeSet<String>) -> Result<bool, Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    match shown {
        Case(name) => Ok(cases.contains(name)),
        Unit(file, name) => {
            Ok(fs::read_to_string(root.join(file))?.contains(&format!("fn {name}(")))
        }
        Row(row) => {
            let Some((suite, name)) = row.split_once(": ") else {
                return Ok(false);
            };
            if suite == "program" {
                return Ok(cases.iter().any(|case| attack_of(case) == name));
            }
            let (modules, test) = name.rsplit_once("::").unwrap_or(("", name));
            holds(&root.join("crates").join(suite), modules, test)
        }
    }
}

/// Reports whether a folder has this test in these modules, or a list of attempts that it is made
/// of.
fn holds(folder: &Path, modules: &str, test: &str) -> Result<bool, Failed> {
    let (function, quoted) = (format!("fn {test}("), format!("\"{test}\""));
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if holds(&path, modules, test)? {
                return Ok(true);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            let is_there = |line: &str| {
                // What is indented is in a module of the file.
                let within = modules.rsplit_once("::").map_or("", |(above, _)| above);
                let module = if line.starts_with(' ') {
                    within
                } else {
                    modules
                };
                line.contains(&function)
                    && path.with_extension("").ends_with(module.replace("::", "/"))
            };
            if text.contains(&quoted) || text.lines().any(is_there) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl Shown {
    /// Reports whether this is a test elsewhere, namely this one of the program with this main
    /// file.
    fn is_test(self, source: &Path, test: &str) -> bool {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        match self {
            Row(_) => false,
            Case(name) => named::is_test(source, &root.join(CASES), name, test),
            Unit(file, name) => named::is_test(source, &root.join(file), name, test),
        }
    }

    /// Returns the rows of the table that this is: one, unless something is wrong.
    fn rows(self, suites: &[Suite]) -> BTreeSet<String> {
        let mut rows = BTreeSet::new();
        for suite in suites {
            let name = suite.name();
            for test in &suite.tests {
                let row = row_of(&name, test);
                let is_it = if let Row(attack) = self {
                    row == attack
                } else {
                    self.is_test(&suite.source, test)
                };
                rows.extend(is_it.then_some(row));
            }
        }
        rows
    }
}

/// Reports whether an id names this test of the program with this main file.
pub(super) fn names(source: &Path, test: &str) -> bool {
    all()
        .flat_map(|attack| attack.shown)
        .any(|shown| shown.is_test(source, test))
}

/// Returns what the ids lack in the whole table: rows, and attempts.
pub(super) fn lacking(table: &Table, suites: &[Suite]) -> Vec<String> {
    all()
        .flat_map(|attack| lacking_of(attack, table, suites))
        .collect()
}

fn lacking_of(attack: &Attack, table: &Table, suites: &[Suite]) -> Vec<String> {
    let mut lacking = Vec::new();
    for shown in attack.shown {
        let rows = shown.rows(suites);
        match rows.first() {
            None => lacking.push(format!("{}: no test program has {shown:?}", attack.id)),
            Some(_) if rows.len() > 1 => {
                lacking.push(format!("{}: {shown:?} is several tests", attack.id))
            }
            Some(row) if !table.is_tried(row) => {
                lacking.push(format!("{}: `{row}` was not run", attack.id))
            }
            Some(_) => {}
        }
    }
    if lacking.is_empty() && !has_control(attack, table, suites) {
        lacking.push(format!("{}: no test of it has a control", attack.id));
    }
    lacking
}

/// Reports whether at least one test of an attack shows that it would notice.
fn has_control(attack: &Attack, table: &Table, suites: &[Suite]) -> bool {
    let mut rows = attack.shown.iter().flat_map(|shown| shown.rows(suites));
    rows.any(|row| ![PLAIN, NO_CONTROL].contains(&table.control_of(&row)))
}

/// Renders the ids, each with the attempts of its rows and the controls that these have.
pub(super) fn rendered(table: &Table, suites: &[Suite]) -> String {
    let mut text = format!("{:<4} {:<75} {:<24} CONTROLS\n", "ID", "ATTACK", "ATTEMPTS");
    for attack in all() {
        text.push_str(&rendered_of(attack, table, suites));
    }
    text.push_str(&format!(
        "\nThe control of an attack `trips` beside it or is `in the test`. The test of a `decision` asks for\n\
         what is allowed, too. A `{PLAIN}` has no control but what it asserts itself; every id has another one.\n"
    ));
    text
}

/// Renders an id, with how many of its rows have which control.
fn rendered_of(attack: &Attack, table: &Table, suites: &[Suite]) -> String {
    let (mut ends, mut controls) = (
        BTreeMap::<&str, usize>::new(),
        BTreeMap::<&str, usize>::new(),
    );
    for row in attack.shown.iter().flat_map(|shown| shown.rows(suites)) {
        table
            .cells(&row)
            .for_each(|end| *ends.entry(end).or_default() += 1);
        *controls.entry(table.control_of(&row)).or_default() += 1;
    }
    format!(
        "{:<4} {:<75} {:<24} {}\n",
        attack.id,
        attack.what,
        counted(&ends),
        counted(&controls)
    )
}

fn counted(counts: &BTreeMap<&str, usize>) -> String {
    counts
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn what_ids_lack_is_told() -> Outcome {
    const FILE: &str = "crates/core/src/ids.rs";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let samples = [
        attack(
            "X1",
            "held",
            &[Unit(FILE, "held"), Row("core: attack::held")],
        ),
        attack("X2", "not run", &[Unit(FILE, "not_run")]),
        attack(
            "X3",
            "absent",
            &[
                Unit(FILE, "absent"),
                Row("core: attack::absent"),
                Case("ids::tests::held"),
            ],
        ),
        attack("X4", "in two modules", &[Unit(FILE, "twice")]),
    ];
    let listed = [
        "attack::held",
        "ids::more::twice",
        "ids::tests::twice",
        "ids::tests::held",
        "ids::tests::not_run",
    ];
    let mut suite = Suite::new(
        "program",
        &root.join("crates/core"),
        root.join("crates/core/src/lib.rs"),
    );
    let is_named = |source: &Path, test: &str| {
        samples
            .iter()
            .flat_map(|sample| sample.shown)
            .any(|shown| shown.is_test(source, test))
    };
    suite.choose(
        listed.map(str::to_owned).into(),
        |test| test.starts_with("attack::"),
        is_named,
    );
    let mut table = Table::default();
    let printed = "test ids::tests::held ... ok\ntest attack::held ... ok\n\
                   test ids::tests::not_run ... ignored, not run: needs bubblewrap\n";
    table.enter(Who::User, &suite, printed)?;
    let suites = [suite];
    table.find_controls(&suites)?;
    let lacking: Vec<String> = samples
        .iter()
        .flat_map(|sample| lacking_of(sample, &table, &suites))
        .collect();
    let expected = [
        "X1: no test of it has a control",
        "X2: `core: ids::tests::not_run` was not run",
        "X3: no test program has Unit(\"crates/core/src/ids.rs\", \"absent\")",
        "X3: no test program has Row(\"core: attack::absent\")",
        "X3: no test program has Case(\"ids::tests::held\")",
        "X4: Unit(\"crates/core/src/ids.rs\", \"twice\") is several tests",
    ];
    let [sample, ..] = &samples;
    let line = rendered_of(sample, &table, &suites)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let is_told = lacking == expected && line == "X1 held 2 holds 1 none, 1 plain test";
    assert!(is_told, "{line}\n{}", lacking.join("\n"));
    Ok(())
}
