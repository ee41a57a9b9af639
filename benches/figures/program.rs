//! Measures the built program from outside: checking a large plan, and a large repository of texts.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Instant;

use libtest_mimic::Failed;

use crate::figure::{Figure, median, ms};
use crate::start::{checkout_time, first_request_time};
use crate::support::{Home, Repository};

const SAMPLES: usize = 9;
const TASKS: usize = 1000;
/// The size of a project that people work on every day.
const FILES: usize = 3000;
const FILES_PER_FOLDER: usize = 60;
/// The limit for the first useful output in such a project, in milliseconds.
const FIRST_OUTPUT: f64 = 1000.0;

/// Measures `check` of a plan of a thousand tasks, each with a dependency and a file.
pub(crate) fn measure_check() -> Result<Vec<Figure>, Failed> {
    let (home, repository) = (Home::new()?, Repository::plain()?);
    let mut plan = "# Large\n\n- [ ] T1 Begin\n".to_owned();
    for number in 2..=TASKS {
        let before = number / 2;
        writeln!(
            plan,
            "- [ ] T{number} Write `part-{number}` (depends: T{before}; files: parts/{number}.txt)"
        )?;
    }
    repository.write("plan.md", &plan)?;
    let check = samples(|| {
        time_of(
            env!("CARGO_BIN_EXE_orchestrate"),
            &["check", "plan.md"],
            &home,
            &repository,
        )
    })?;
    Ok(vec![Figure {
        name: "check of a plan of 1,000 tasks",
        measured: check,
        limit: 100.0,
        unit: "ms",
        beside: format!(
            "the program `true` {:.2} ms",
            bare_start(&home, &repository)?
        ),
    }])
}

/// Measures `check` and the first request of a run in a repository of [`FILES`] files.
pub(crate) fn measure_large() -> Result<Vec<Figure>, Failed> {
    let (home, repository) = (Home::new()?, large()?);
    let check = samples(|| {
        time_of(
            env!("CARGO_BIN_EXE_orchestrate"),
            &["check", "plan.md"],
            &home,
            &repository,
        )
    })?;
    let start = samples(|| first_request_time(&home, &repository))?;
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
        let name = format!(
            "source/{:02}/part_{number:04}.txt",
            number / FILES_PER_FOLDER
        );
        repository.write(
            &name,
            &format!("This is a line of the file {number}.\n").repeat(100),
        )?;
    }
    repository.write("AGENTS.md", "Keep to the style of the file.\n")?;
    repository.write(
        "plan.md",
        "- [ ] T1 Say hello (files: source/00/part_0001.txt)\n",
    )?;
    repository.commit_all("Files")?;
    Ok(repository)
}

/// Measures the start of a program that does nothing.
fn bare_start(home: &Home, repository: &Repository) -> Result<f64, Failed> {
    samples(|| time_of("true", &[], home, repository))
}

/// Runs a program and waits for its end without polling; returns the time in milliseconds.
fn time_of(
    program: &str,
    arguments: &[&str],
    home: &Home,
    repository: &Repository,
) -> Result<f64, Failed> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(repository.path())
        .env_clear();
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path());
    let since = Instant::now();
    let output = command.output()?;
    let elapsed = ms(since.elapsed());
    if output.status.success() {
        Ok(elapsed)
    } else {
        Err(Failed::from(format!("{program}: {output:?}")))
    }
}

/// Returns the median of several samples.
fn samples(mut sample: impl FnMut() -> Result<f64, Failed>) -> Result<f64, Failed> {
    median((0..SAMPLES).map(|_| sample()).collect::<Result<_, _>>()?)
}
