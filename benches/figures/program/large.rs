//! Measures the built program from outside: checking a large plan, and a large repository of texts.

use std::fmt::Write as _;
use std::process::Command;

use libtest_mimic::Failed;

use super::start::{checkout_time, first_request};
use crate::measuring::{Figure, median, timed};
use crate::support::{Home, Repository};

const PROGRAM: &str = env!("CARGO_BIN_EXE_orchestrate");
const SAMPLES: usize = 9;
/// The plans whose check is measured.
const CHECKS: [Check; 2] = [
    Check {
        name: "check of a plan of 1,000 tasks",
        tasks: 1000,
        limit: 100.0,
    },
    Check {
        name: "check of a plan of 3,000 tasks",
        tasks: 3000,
        limit: 300.0,
    },
];
/// The size of a project that people work on every day.
const FILES: usize = 3000;
const FILES_PER_FOLDER: usize = 60;
/// The limit for the first useful output in such a project, in milliseconds.
const FIRST_OUTPUT: f64 = 1000.0;

/// A plan whose check is measured.
struct Check {
    name: &'static str,
    tasks: usize,
    /// In milliseconds.
    limit: f64,
}

/// Measures `check` of plans of a thousand and of three thousand tasks, each with a dependency and
/// a file.
pub(crate) fn measure_check() -> Result<Vec<Figure>, Failed> {
    let (home, repository) = (Home::new()?, Repository::plain()?);
    let start = samples(|| time_of("true", &[], &home, &repository))?;
    let mut figures = Vec::new();
    for check in CHECKS {
        repository.write("plan.md", &plan_of(check.tasks)?)?;
        figures.push(Figure {
            name: check.name,
            measured: samples(|| time_of(PROGRAM, &["check", "plan.md"], &home, &repository))?,
            limit: check.limit,
            unit: "ms",
            beside: format!("the program `true` {start:.2} ms"),
        });
    }
    Ok(figures)
}

/// Returns a plan of this many tasks.
fn plan_of(tasks: usize) -> Result<String, Failed> {
    let mut plan = "# Large\n\n- [ ] T1 Begin\n".to_owned();
    for number in 2..=tasks {
        let before = number / 2;
        writeln!(
            plan,
            "- [ ] T{number} Write `part-{number}` (depends: T{before}; files: parts/{number}.txt)"
        )?;
    }
    Ok(plan)
}

/// Measures `check` and the first request of a run in a repository of [`FILES`] files.
pub(crate) fn measure_large() -> Result<Vec<Figure>, Failed> {
    let (home, repository) = (Home::new()?, large()?);
    let check = samples(|| time_of(PROGRAM, &["check", "plan.md"], &home, &repository))?;
    let start = samples(|| Ok(first_request(&home, &repository)?.milliseconds))?;
    let status = samples(|| time_of("git", &["status", "--short"], &home, &repository))?;
    let checkout = checkout_time(&repository)?;
    Ok(vec![
        Figure {
            name: "check in a repository of 3,000 files",
            measured: check,
            limit: FIRST_OUTPUT,
            unit: "ms",
            beside: format!("`git status` {status:.1} ms"),
        },
        Figure {
            name: "first request in a repository of 3,000 files",
            measured: start,
            limit: FIRST_OUTPUT,
            unit: "ms",
            beside: format!("`git worktree add` {checkout:.1} ms"),
        },
    ])
}

/// Creates a repository of [`FILES`] files of a few kilobytes, with instructions and a plan whose
/// task names a file.
fn large() -> Result<Repository, Failed> {
    let repository = Repository::plain()?;
    for number in 0..FILES {
        let folder = number / FILES_PER_FOLDER;
        let name = format!("source/{folder:02}/part_{number:04}.txt");
        let text = format!("This is a line of the file {number}.\n").repeat(100);
        repository.write(&name, &text)?;
    }
    repository.write("AGENTS.md", "Keep to the style of the file.\n")?;
    let plan = "- [ ] T1 Say hello (files: source/00/part_0001.txt)\n";
    repository.write("plan.md", plan)?;
    repository.commit_all("Files")?;
    Ok(repository)
}

/// Runs a program and waits for its end without polling; returns the time in milliseconds.
fn time_of(
    program: &str,
    arguments: &[&str],
    home: &Home,
    repository: &Repository,
) -> Result<f64, Failed> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository.path());
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home.path());
    timed(|| match command.output()? {
        output if output.status.success() => Ok(()),
        output => Err(format!("{program}: {output:?}").into()),
    })
}

/// Returns the median of several samples.
fn samples(mut sample: impl FnMut() -> Result<f64, Failed>) -> Result<f64, Failed> {
    let samples: Result<Vec<f64>, Failed> = (0..SAMPLES).map(|_| sample()).collect();
    median(&samples?)
}
