//! The figures that the engine promises, each measured beside its bare counterpart in the same run.
//!
//! `just bench` prints them, `just bench --check` fails on a miss, and `--build` adds the clean build, which takes
//! minutes. Everything is the real engine, git, journal and sandbox; a server on the loopback is the model and answers
//! at once. Each figure is a median, since a loaded machine spoils single samples. What it deliberately does not do:
//! compare with earlier runs.
//!
//! The program executes itself again for figures of a whole process (`--fleet`), and as the sandbox's helper.
#![expect(clippy::disallowed_methods, reason = "a measurement starts programs and reads the environment from outside")]
#![expect(clippy::indexing_slicing, reason = "the support of the tests indexes; a miss here ends the measurement")]

mod build;
mod figure;
mod fleet;
mod merges;
mod program;
mod stage;
mod turns;

#[path = "../../tests/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use the rest of their support")]
mod support;

use std::io::Write as _;
use std::process::ExitCode;

use libtest_mimic::Failed;

use crate::figure::{Figure, HEADER};

/// Measures a group of figures.
type Measure = fn() -> Result<Vec<Figure>, Failed>;

/// The groups by the name with which one can be asked for alone.
const GROUPS: [(&str, Measure); 5] = [
    ("turns", turns::measure),
    ("fleet", fleet::measure),
    ("check", program::measure_check),
    ("start", program::measure_start),
    ("merges", merges::measure),
];

/// What was asked for.
#[derive(Default)]
struct Wanted {
    check: bool,
    build: bool,
    groups: Vec<String>,
}

fn main() -> ExitCode {
    orchestrate_sandbox::run_helper_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [flag, agents, base_url] if flag == fleet::FLAG => fleet::serve(agents, base_url).map(|()| true),
        _ => measure(&wanted(&arguments)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {}", error.message().unwrap_or("no reason given")));
            ExitCode::FAILURE
        }
    }
}

/// Reads the arguments; `--bench` is cargo's own.
fn wanted(arguments: &[String]) -> Wanted {
    let mut wanted = Wanted::default();
    for argument in arguments {
        match argument.as_str() {
            "--check" => wanted.check = true,
            "--build" => wanted.build = true,
            flag if flag.starts_with('-') => {}
            group => wanted.groups.push(group.to_owned()),
        }
    }
    wanted
}

/// Measures and prints; tells whether everything that is checked keeps its limit.
fn measure(wanted: &Wanted) -> Result<bool, Failed> {
    let build: Option<(&str, Measure)> = wanted.build.then_some(("build", build::measure));
    let mut kept = true;
    say(HEADER);
    for (name, group) in GROUPS.into_iter().chain(build) {
        if !wanted.groups.is_empty() && !wanted.groups.iter().any(|group| group == name) {
            continue;
        }
        for figure in group()? {
            kept &= figure.is_kept();
            say(&figure.to_string());
        }
    }
    Ok(kept || !wanted.check)
}

/// Prints a line; a reader who has gone is no failure of the measurement.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
