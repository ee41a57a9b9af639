//! Walks the table: every test that it names has to exist.

use std::collections::BTreeSet;

use super::audit::AUDIT;
use super::configuration::CONFIGURATION;
use super::context::CONTEXT;
use super::extending::EXTENDING;
use super::failures::FAILURES;
use super::harness::HARNESS;
use super::programs::PROGRAMS;
use super::table::{Line, Proof, WRAPPED_TOOLS};
use super::tool_files::TOOL_FILES;
use super::version_control::VERSION_CONTROL;
use crate::support::{Outcome, fail};

/// Checks every table.
pub(super) fn every_line_names_a_test() -> Outcome {
    let names: BTreeSet<String> = crate::cases().iter().map(|case| case.name().to_owned()).collect();
    let mut found = violations(WRAPPED_TOOLS, &names)?;
    found.extend(gaps("000", WRAPPED_TOOLS));
    for (list, table, lines) in [("001", HARNESS, 47), ("003", CONTEXT, 22)] {
        found.extend(gaps(list, table));
        if table.len() != lines {
            found.push(format!("{list} has {lines} lines, and not {}", table.len()));
        }
    }
    found.extend(gaps("004", TOOL_FILES));
    let tables = [AUDIT, CONFIGURATION, CONTEXT, EXTENDING, FAILURES, HARNESS, PROGRAMS, TOOL_FILES, VERSION_CONTROL];
    for table in tables {
        found.extend(violations(table, &names)?);
    }
    if found.is_empty() { Ok(()) } else { fail(found.join("\n")) }
}

/// Returns what is missing in a table of a whole list.
fn gaps(list: &str, table: &[Line]) -> Vec<String> {
    let expected = (1..).zip(table).map(|(number, line)| (format!("{list}-{number:03}"), line));
    let wrong = expected.filter(|(expected, line)| line.id != expected);
    wrong.map(|(expected, line)| format!("{} stands in the place of {expected}", line.id)).collect()
}

/// Returns what is wrong with the lines of a table.
fn violations(table: &[Line], names: &BTreeSet<String>) -> Result<Vec<String>, libtest_mimic::Failed> {
    let mut found = Vec::new();
    for line in table {
        let is_there = match line.proof {
            Proof::Case(name) => names.contains(name),
            Proof::Unit(file, name) => {
                let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
                std::fs::read_to_string(path)?.contains(&format!("fn {name}("))
            }
            Proof::Elsewhere(reason) => !reason.is_empty(),
        };
        if !is_there {
            found.push(format!("{} {}: there is no {:?}", line.id, line.name, line.proof));
        }
    }
    Ok(found)
}

/// Shows the walk a table that it must refuse.
pub(super) fn examples_are_caught() -> Outcome {
    let line = |id, proof| Line { id, name: "a thing", proof };
    let table = [
        line("000-001", Proof::Case("tool_run::is_there")),
        line("000-002", Proof::Case("tool_run::is_gone")),
        line("000-004", Proof::Elsewhere("")),
        line("000-004", Proof::Unit("tests/reference/walk.rs", "examples_are_gone")),
    ];
    let mut found = gaps("000", &table);
    found.extend(violations(&table, &BTreeSet::from(["tool_run::is_there".to_owned()]))?);
    let ids: Vec<&str> = found.iter().filter_map(|line| line.split(' ').next()).collect();
    if ids == ["000-004", "000-002", "000-004", "000-004"] { Ok(()) } else { fail(found.join("\n")) }
}
