//! The rules of `ARCHITECTURE.md`, checked on the sources.
//!
//! Each check is a function from text to violations, so that a small bad example shows that it is
//! caught. Macros are deliberately not expanded.

mod arrows;
mod budgets;
mod cargo;
mod commands;
mod cycles;
mod interface;
mod links;
mod paths;
mod promises;
mod shape;
mod source;
mod states;

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;

use self::cargo::{bans, denied, lints};
use crate::support::{Case, Need, Outcome, case, fail};

/// Returns the tests of the rules, each with a test of the examples that it has to catch.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(
            "architecture::dependency_arrows_point_down",
            arrows::workspace_holds,
        ),
        case(
            "architecture::forbidden_arrow_is_caught",
            arrows::examples_are_caught,
        ),
        case("architecture::modules_form_a_dag", cycles::workspace_holds),
        case(
            "architecture::module_cycle_is_caught",
            cycles::examples_are_caught,
        ),
        case(
            "architecture::workers_reach_the_run_through_their_links",
            links::workspace_holds,
        ),
        case(
            "architecture::worker_without_a_link_is_caught",
            links::examples_are_caught,
        ),
        case(
            "architecture::states_are_judged_in_core",
            states::workspace_holds,
        ),
        case(
            "architecture::state_judged_elsewhere_is_caught",
            states::examples_are_caught,
        ),
        case(
            "architecture::only_the_terminal_names_command_lines",
            commands::workspace_holds,
        ),
        case(
            "architecture::command_line_in_an_error_is_caught",
            commands::examples_are_caught,
        ),
        case(
            "architecture::files_keep_their_shape",
            shape::workspace_holds,
        ),
        case(
            "architecture::bad_shape_is_caught",
            shape::examples_are_caught,
        ),
        case(
            "architecture::library_has_the_listed_interface",
            interface::is_the_listed_one,
        ),
        case(
            "architecture::what_is_public_is_listed",
            interface::what_is_public_is_listed,
        ),
        case("architecture::budgets_only_fall", budgets::workspace_holds),
        case(
            "architecture::what_budgets_count_is_counted",
            budgets::examples_are_counted,
        ),
        case(
            "architecture::every_promise_names_its_test",
            promises::page_holds,
        ),
        case(
            "architecture::promise_without_a_test_is_caught",
            promises::examples_are_caught,
        ),
        case(
            "architecture::every_file_that_the_pages_name_exists",
            paths::pages_hold,
        ),
        case(
            "architecture::path_to_nothing_is_caught",
            paths::examples_are_caught,
        ),
        case(
            "architecture::every_clippy_file_has_the_bans",
            bans::workspace_holds,
        ),
        case(
            "architecture::missing_ban_is_caught",
            bans::examples_are_caught,
        ),
        case("architecture::every_ban_bites", bans::every_ban_bites).needs(Need::CLIPPY),
        case("architecture::every_lint_bites", lints::every_lint_bites).needs(Need::CLIPPY),
        case(
            "architecture::every_denied_crate_is_refused",
            denied::every_crate_is_refused,
        )
        .needs(Need::CARGO_DENY),
        case(
            "architecture::only_permissive_licences_pass",
            denied::only_permissive_licences_pass,
        )
        .needs(Need::CARGO_DENY),
    ]
}

/// What a check found wrong, and where.
type Violation = String;

/// Returns the root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder of every package under `crates/` that has a manifest of its own, in order.
fn crates() -> Result<Vec<PathBuf>, Failed> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let folder = entry?.path();
        if folder.join("Cargo.toml").is_file() {
            folders.push(folder);
        }
    }
    folders.sort();
    Ok(folders)
}

/// Returns every Rust file of the repository's own code, as a path below the root, in order.
fn rust_files() -> Result<Vec<PathBuf>, Failed> {
    let mut found = Vec::new();
    for folder in ["crates", "tests", "examples", "benches"] {
        collect_rust_files(&root().join(folder), &mut found)?;
    }
    found.sort();
    Ok(found
        .into_iter()
        .filter_map(|path| path.strip_prefix(root()).ok().map(Path::to_owned))
        .collect())
}

fn collect_rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> Outcome {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        let is_build_output = path.file_name().is_some_and(|name| name == "target");
        if path.is_dir() && !is_build_output {
            collect_rust_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Failed> {
    fs::read_to_string(path).map_err(|error| Failed::from(format!("{}: {error}", path.display())))
}

/// Fails with one violation per line, if there are any.
fn require_none(violations: &[Violation]) -> Outcome {
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    Ok(())
}

/// Fails unless a check found exactly these.
fn require_exactly(violations: &[Violation], expected: &[&str]) -> Outcome {
    if violations == expected {
        Ok(())
    } else {
        fail(format!("found {violations:#?}\ninstead of {expected:#?}"))
    }
}
