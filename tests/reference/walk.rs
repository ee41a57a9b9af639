//! Walks the table: every test that it names has to exist.

use std::collections::BTreeSet;

use super::lines::analysis::ANALYSIS;
use super::lines::audit::AUDIT;
use super::lines::configuration::CONFIGURATION;
use super::lines::context::CONTEXT;
use super::lines::extending::EXTENDING;
use super::lines::failures::FAILURES;
use super::lines::files::FILES;
use super::lines::harness::HARNESS;
use super::lines::permissions::PERMISSIONS_AND_LIMITS;
use super::lines::programs::PROGRAMS;
use super::lines::registry::TOOLS_AS_VALUES;
use super::lines::tool_files::TOOL_FILES;
use super::lines::version_control::VERSION_CONTROL;
use super::lines::web::WEB_TOOLS;
use super::table::{Line, Proof, WRAPPED_TOOLS};
use crate::support::Outcome;

/// The lists.
const LISTS: &[List] = &[
    List {
        name: "000",
        lines: 81,
        tables: &[WRAPPED_TOOLS],
    },
    List {
        name: "001",
        lines: 47,
        tables: &[HARNESS],
    },
    List {
        name: "002",
        lines: 218,
        tables: &[
            FILES,
            PROGRAMS,
            VERSION_CONTROL,
            TOOLS_AS_VALUES,
            PERMISSIONS_AND_LIMITS,
            AUDIT,
            CONFIGURATION,
            FAILURES,
            EXTENDING,
            ANALYSIS,
            WEB_TOOLS,
        ],
    },
    List {
        name: "003",
        lines: 22,
        tables: &[CONTEXT],
    },
    List {
        name: "004",
        lines: 75,
        tables: &[TOOL_FILES],
    },
];

/// A list, and the tables that its lines are in.
struct List {
    name: &'static str,
    /// The number of its lines.
    lines: u32,
    tables: &'static [&'static [Line]],
}

/// Checks every table, and that no number of a list is left out or there twice.
pub(super) fn every_line_names_a_test() -> Outcome {
    let names: BTreeSet<String> = crate::cases()
        .iter()
        .map(|case| case.name().to_owned())
        .collect();
    let mut found = Vec::new();
    for List {
        name,
        lines: count,
        tables,
    } in LISTS
    {
        let mut lines: Vec<&Line> = tables.iter().copied().flatten().collect();
        lines.sort_by_key(|line| line.id);
        found.extend(gaps(name, *count, &lines));
        found.extend(violations(&lines, &names)?);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

/// Returns what is missing in the sorted lines of a list of so many, and what is there twice or of
/// another list.
fn gaps(list: &str, count: u32, lines: &[&Line]) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = 1_u32;
    for line in lines {
        let number = line
            .id
            .strip_prefix(list)
            .and_then(|rest| rest.strip_prefix('-')?.parse::<u32>().ok());
        let Some(number) = number else {
            found.push(format!("{} is no line of {list}", line.id));
            continue;
        };
        found.extend((next..number).map(|missing| format!("{list}-{missing:03} is left out")));
        if number < next {
            found.push(format!("{} is there twice", line.id));
        }
        next = next.max(number + 1);
    }
    found.extend((next..=count).map(|missing| format!("{list}-{missing:03} is left out")));
    found.extend(
        (count + 1..next).map(|more| format!("{list}-{more:03} is more than the list has")),
    );
    found
}

/// Returns what is wrong with the lines of a table.
fn violations(
    table: &[&Line],
    names: &BTreeSet<String>,
) -> Result<Vec<String>, libtest_mimic::Failed> {
    let mut found = Vec::new();
    for line in table {
        let is_there = match line.proof {
            Proof::Case(name) => names.contains(name),
            Proof::Unit(file, name) => {
                let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
                std::fs::read_to_string(path)?.contains(&format!("fn {name}("))
            }
        };
        if !is_there {
            found.push(format!(
                "{} {}: there is no {:?}",
                line.id, line.name, line.proof
            ));
        }
    }
    Ok(found)
}

/// Shows the walk a table that it must refuse.
pub(super) fn examples_are_caught() -> Outcome {
    let line = |id, proof| Line {
        id,
        name: "a thing",
        proof,
    };
    let table = [
        line("000-001", Proof::Case("tool_run::is_there")),
        line("000-002", Proof::Case("tool_run::is_gone")),
        line("000-004", Proof::Case("")),
        line(
            "000-004",
            Proof::Unit("tests/reference/walk.rs", "examples_are_gone"),
        ),
        line("001-005", Proof::Case("tool_run::is_there")),
    ];
    let lines: Vec<&Line> = table.iter().collect();
    let mut found = gaps("000", 5, &lines);
    found.extend(violations(
        &lines,
        &BTreeSet::from(["tool_run::is_there".to_owned()]),
    )?);
    let expected = [
        "000-003 is left out",
        "000-004 is there twice",
        "001-005 is no line of 000",
        "000-005 is left out",
        "000-002 a thing: there is no",
        "000-004 a thing: there is no",
        "000-004 a thing: there is no",
    ];
    let is_found = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(line, said)| line.starts_with(said));
    assert!(is_found, "{}", found.join("\n"));
    Ok(())
}
