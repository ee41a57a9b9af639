//! Measures the performance figures that the engine promises, each beside its bare counterpart in
//! the same run.
//!
//! `just bench` prints them, and `just bench --check` fails if a limit is missed. Names of groups
//! select only those: the clean build takes minutes. The engine, git, the journal and the sandbox
//! are real; a server on the loopback interface is the model and answers at once. Figures are
//! medians, since load on the machine distorts single samples. They are deliberately not compared
//! with earlier runs.
//!
//! The program executes itself again for figures of a whole process (`--fleet`, `--commands`,
//! `--shells`, `--web`), and as the sandbox's helper.
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement starts programs and reads the environment from outside"
)]
#![expect(
    clippy::indexing_slicing,
    reason = "the support of the tests indexes; a miss here ends the measurement"
)]

mod build;
mod code;
mod commands;
mod dispatch;
mod figure;
mod fleet;
mod journal;
mod maps;
mod merges;
mod messages;
mod plans;
mod played_run;
mod plays;
mod processor;
mod program;
mod proxy;
mod shared;
mod shells;
mod spawns;
mod stage;
mod start;
mod tiers;
mod tools;
mod turns;
mod warm;
mod web;

#[path = "../../tests/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the tests use the rest of their support"
)]
mod support;

use std::io::Write as _;
use std::process::ExitCode;

use libtest_mimic::Failed;

use crate::figure::{Figure, HEADER};

/// Measures a group of figures.
type Measure = fn() -> Result<Vec<Figure>, Failed>;

/// The groups, by the names that select them.
const GROUPS: [(&str, Measure); 22] = [
    ("turns", turns::measure),
    ("journal", journal::measure),
    ("messages", messages::measure),
    ("dispatch", dispatch::measure),
    ("tools", tools::measure),
    ("code", code::measure),
    ("web", web::measure),
    ("maps", maps::measure),
    ("commands", commands::measure),
    ("warm", warm::measure),
    ("fleet", fleet::measure),
    ("crowd", fleet::measure_crowd),
    ("spawns", spawns::measure),
    ("shells", shells::measure),
    ("plans", plans::measure),
    ("check", program::measure_check),
    ("start", start::measure),
    ("large", program::measure_large),
    ("merges", merges::measure),
    ("proxy", proxy::measure),
    ("shared", shared::measure),
    ("build", build::measure),
];

/// The parsed arguments.
#[derive(Default)]
struct Wanted {
    check: bool,
    groups: Vec<(&'static str, Measure)>,
}

fn main() -> ExitCode {
    orchestrate_sandbox::run_helper_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [flag, agents, base_url] if flag == fleet::FLAG => {
            fleet::serve(agents, base_url).map(|()| true)
        }
        [flag, tier] if flag == commands::FLAG => commands::serve(tier).map(|()| true),
        [flag, url] if flag == web::FLAG => web::serve(url).map(|()| true),
        [flag, tier, base_url] if flag == shells::FLAG => {
            shells::serve(tier, base_url).map(|()| true)
        }
        _ => wanted(&arguments).and_then(|wanted| measure(&wanted)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!(
                "error: {}",
                error.message().unwrap_or("no reason given")
            ));
            ExitCode::FAILURE
        }
    }
}

/// Parses the arguments; cargo itself adds `--bench`.
fn wanted(arguments: &[String]) -> Result<Wanted, Failed> {
    let mut wanted = Wanted::default();
    for argument in arguments {
        match argument.as_str() {
            "--check" => wanted.check = true,
            "--bench" => {}
            name => wanted.groups.push(group(name)?),
        }
    }
    if wanted.groups.is_empty() {
        wanted.groups.extend(GROUPS);
    }
    Ok(wanted)
}

fn group(name: &str) -> Result<(&'static str, Measure), Failed> {
    let found = GROUPS.into_iter().find(|(group, _)| *group == name);
    found.ok_or_else(|| {
        let names = GROUPS.map(|(group, _)| group).join(", ");
        Failed::from(format!(
            "`{name}` is neither --check nor a group of figures ({names})"
        ))
    })
}

/// Measures and prints the figures; returns `false` if limits are checked and one is missed.
fn measure(wanted: &Wanted) -> Result<bool, Failed> {
    let mut kept = true;
    say(HEADER);
    for (name, group) in &wanted.groups {
        for figure in group().map_err(|error| in_group(name, &error))? {
            kept &= figure.is_kept();
            say(&figure.to_string());
        }
    }
    for (name, _) in GROUPS
        .iter()
        .filter(|(name, _)| wanted.groups.iter().all(|(asked, _)| asked != name))
    {
        say(&format!("not measured: {name} (`just bench {name}`)"));
    }
    Ok(kept || !wanted.check)
}

fn in_group(name: &str, error: &Failed) -> Failed {
    Failed::from(format!(
        "{name}: {}",
        error.message().unwrap_or("no reason given")
    ))
}

/// Prints a line; a closed output does not fail the measurement.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
