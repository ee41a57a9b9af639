//! The tools for an agent's own branch.

use crate::reference::table::{Line, case};

const SELECTED: &str = "git_tools::a_commit_takes_what_was_selected";
const NAMED: &str = "git_tools::a_branch_is_a_name_for_a_commit";
const BROUGHT: &str = "git_tools::a_checkout_brings_files_and_can_be_undone";
const ASIDE: &str = "git_tools::changes_are_set_aside_for_one_agent";
const MERGED: &str = "git_tools::another_agents_work_is_merged";
const CONFLICT: &str = "git_tools::a_conflict_is_listed_and_resolved";
const PUSHED: &str = "git_remotes::commits_are_pushed_once_the_user_agrees";
const OWN: &str = "git_remotes::only_an_agents_own_branch_is_pushed";
const PULLED: &str = "git_remotes::a_branch_of_a_remote_is_merged";
const SEPARATE: &str = "end_to_end::two_independent_tasks_are_merged";

/// The table.
pub(in crate::reference) const VERSION_CONTROL: &[Line] = &[
    case("002-048", "git_status", SELECTED),
    case("002-049", "GitStatus", SELECTED),
    case("002-050", "git_log", BROUGHT),
    case("002-051", "git_log shows 10 commits", BROUGHT),
    case("002-052", "GitCommit", BROUGHT),
    case("002-053", "git_diff", SELECTED),
    case(
        "002-054",
        "git_diff shows the worktree unless asked otherwise",
        SELECTED,
    ),
    case(
        "002-055",
        "git_diff shows what the next commit takes",
        SELECTED,
    ),
    case("002-056", "git_add", SELECTED),
    case("002-057", "git_add(files)", SELECTED),
    case("002-058", "git_commit", SELECTED),
    case("002-059", "git_commit(message)", SELECTED),
    case("002-060", "git_push", PUSHED),
    case("002-061", "git_push to origin", PUSHED),
    case("002-062", "git_push of a branch", OWN),
    case("002-063", "git_pull", PULLED),
    case("002-064", "git_pull from origin", PULLED),
    case("002-065", "git_pull of a branch", PULLED),
    case("002-066", "git_branch", NAMED),
    case("002-067", "git_branch(action, branch_name)", NAMED),
    case("002-068", "GitBranchResult", NAMED),
    case("002-069", "git_checkout", BROUGHT),
    case("002-070", "git_checkout(branch_or_commit)", BROUGHT),
    case("002-071", "git_stash", ASIDE),
    case("002-072", "git_stash pushes unless asked otherwise", ASIDE),
    case("002-073", "git_merge", MERGED),
    case("002-074", "MergeResult", CONFLICT),
    case(
        "002-155",
        "the permission git_operations",
        "git_tools::hostile_names_and_paths_are_refused",
    ),
    case("002-163", "a worktree of its own for each child", SEPARATE),
    case(
        "002-166",
        "git handles conflicts",
        "end_to_end::a_conflict_goes_back_to_its_author",
    ),
    case("002-167", "agents work together through git", MERGED),
];
