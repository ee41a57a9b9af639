//! Measures the performance figures that the engine promises, each beside its bare counterpart in
//! the same run.
//!
//! `just bench` prints them, and `just bench --check` fails if a limit is missed. Names of groups
//! select only those: the clean build takes minutes. The engine, git, the journal and the sandbox
//! are real; a server on the loopback interface is the model and answers at once. Figures are
//! medians, since load on the machine distorts single samples. They are deliberately not compared
//! with earlier runs: libraries for benchmarks do that, but neither measure two sides alternately
//! nor know limits.
//!
//! The program executes itself again for figures of a whole process (`--part`), and as the
//! sandbox's helper.
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement starts programs and reads the environment from outside"
)]
#![expect(
    clippy::indexing_slicing,
    reason = "the support of the tests indexes; a miss here ends the measurement"
)]

mod measuring;
mod program;
mod runs;
mod tools;

#[path = "../../tests/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the tests use the rest of their support"
)]
mod support;

use std::io::Write as _;
use std::process::ExitCode;

use libtest_mimic::Failed;
use serde_json::Value;

use crate::measuring::{Figure, HEADER};
use crate::program::{build, large, plans, start};
use crate::runs::{agents, dispatch, fleet, journal, merges, messages, shells, spawns, turns};
use crate::tools::{calls, code, commands, maps, proxy, shared, warm, web};

/// Measures a group of figures.
type Measure = fn() -> Result<Vec<Figure>, Failed>;

/// Measures in a process of its own, with these arguments; returns the costs by their names.
type Part = fn(&[String]) -> Result<Value, Failed>;

/// The groups, by the names that select them.
const GROUPS: [(&str, Measure); 24] = [
    ("turns", turns::measure),
    ("journal", journal::measure),
    ("messages", messages::measure),
    ("dispatch", dispatch::measure),
    ("tools", calls::measure),
    ("code", code::measure),
    ("web", web::measure),
    ("maps", maps::measure),
    ("commands", commands::measure),
    ("warm", warm::measure),
    ("fleet", fleet::measure),
    ("long-fleet", fleet::measure_long),
    ("agents", agents::measure),
    ("crowd", agents::measure_crowd),
    ("spawns", spawns::measure),
    ("shells", shells::measure),
    ("plans", plans::measure),
    ("check", large::measure_check),
    ("start", start::measure),
    ("large", large::measure_large),
    ("merges", merges::measure),
    ("proxy", proxy::measure),
    ("shared", shared::measure),
    ("build", build::measure),
];

/// The parts of groups that are processes of their own, by their names.
const PARTS: [(&str, Part); 6] = [
    ("agents", agents::part),
    ("commands", commands::part),
    ("shells", shells::part),
    ("sixteen", fleet::part_of_sixteen),
    ("turns", fleet::part_of_turns),
    ("web", web::part),
];

fn main() -> ExitCode {
    orchestrate_sandbox::run_helper_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [flag, name, of_part @ ..] if flag == "--part" => measure_part(name, of_part),
        _ => measure(&arguments),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {}", reason(&error)));
            ExitCode::FAILURE
        }
    }
}

fn measure_part(name: &str, arguments: &[String]) -> Result<bool, Failed> {
    let found = PARTS.iter().find(|(part, _)| *part == name);
    let (_, part) = found.ok_or("no such part")?;
    say(&part(arguments)?.to_string());
    Ok(true)
}

/// Measures and prints the figures of all groups or of those that are named; returns `false` if
/// limits are checked and one is missed. Cargo itself adds `--bench`.
fn measure(arguments: &[String]) -> Result<bool, Failed> {
    let mut wanted: Vec<&str> = arguments.iter().map(String::as_str).collect();
    wanted.retain(|argument| *argument != "--bench");
    let checks = wanted.contains(&"--check");
    wanted.retain(|argument| *argument != "--check");
    let names = GROUPS.map(|(group, _)| group);
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(name)) {
        let names = names.join(", ");
        let error = format!("`{unknown}` is neither --check nor a group of figures ({names})");
        return Err(error.into());
    }
    let mut kept = true;
    say(HEADER);
    let selected = if wanted.is_empty() {
        &names[..]
    } else {
        &wanted
    };
    for name in selected {
        let found = GROUPS.iter().find(|(group, _)| group == name);
        let (_, group) = found.ok_or("no such group")?;
        let figures = group().map_err(|error| format!("{name}: {}", reason(&error)))?;
        for figure in figures {
            kept &= figure.is_kept();
            say(&figure.to_string());
        }
    }
    for name in names {
        if !wanted.is_empty() && !wanted.contains(&name) {
            say(&format!("not measured: {name} (`just bench {name}`)"));
        }
    }
    Ok(kept || !checks)
}

fn reason(error: &Failed) -> &str {
    error.message().unwrap_or("no reason given")
}

/// Prints a line; a closed output does not fail the measurement.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
