//! `run_tests`: runs the project's tests with its own runner, and tells which failed, why and where.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::read;
use super::super::facts::facts;
use super::candidate::{Ran, choose};
use super::parse::{self, Tally};
use super::project::Project;
use super::runners::{Report, runners, takes_pattern};
use crate::arguments::invalid;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{EntryKind, Files, Flow, WalkLimits};
use crate::output::Answer;
use crate::path::join;
use crate::prompt::Prompt;
use crate::results::{TestFailure, TestResults};
use crate::tool::Tool;

/// Maximum time to look for files of reports.
const REPORTS_TIME: Duration = Duration::from_secs(10);

/// The `run_tests` tool.
pub(crate) struct RunTests(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    test_pattern: Option<String>,
}

#[async_trait]
impl Tool for RunTests {
    facts!("run_tests", EXEC, CodeExecution);

    fn chooses_program(&self) -> bool {
        true
    }

    fn is_default(&self) -> bool {
        false
    }

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        let pattern = arguments.get("test_pattern").and_then(Value::as_str).unwrap_or("x");
        match pattern {
            "" => Err(invalid("`test_pattern` is empty; leave it out to run all tests")),
            _ if pattern.starts_with('-') => Err(invalid("`test_pattern` begins with `-`, like an option")),
            _ if pattern.contains('\0') => Err(invalid("`test_pattern` contains a NUL byte")),
            _ => Ok(()),
        }
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { test_pattern } = read(arguments)?;
        let project = context.blocking(Project::look).await?;
        let mut groups = runners(&project, test_pattern.as_deref()).into_iter();
        let candidates = groups.next().ok_or_else(no_tests)?;
        let others: Vec<&str> = groups.filter_map(|group| Some(group.first()?.program)).collect();
        let chosen = choose(context, candidates).await?;
        if test_pattern.is_some() && !takes_pattern(&chosen.candidate) {
            let program = chosen.candidate.program;
            return Err(invalid(&format!("`{program}` runs all tests or none; leave `test_pattern` out")));
        }
        let report = &chosen.candidate.report;
        let before = files_of(context, report).await?;
        let ran = chosen.run(context).await?;
        let root = context.worktree().to_string_lossy().into_owned();
        let tally = match report {
            Report::JunitFiles(_) => {
                let mut after = files_of(context, report).await?;
                after.retain(|path, state| before.get(path) != Some(state));
                read_files(context, after.into_keys().collect(), root).await?
            }
            report => read_output(report, &ran, &root),
        };
        Ok(answer(&ran, tally, report, &others))
    }
}

fn no_tests() -> ToolError {
    let kinds = "Cargo.toml, go.mod, pyproject.toml or test files of Python, package.json with a script `test`, pom.xml, \
        build.gradle, CMakeLists.txt or a Makefile with a target `test`";
    ToolError::Retry(format!(
        "found no tests that this can run: the worktree's root has none of {kinds}; run the tests with run_shell_command"
    ))
}

/// Reads a report that the program printed.
fn read_output(report: &Report, ran: &Ran, root: &str) -> Tally {
    match report {
        Report::Libtest => parse::libtest(&ran.stdout, root),
        Report::Nextest => parse::nextest(&ran.stdout, root),
        Report::Junit => parse::junit(&ran.stdout, root),
        Report::JunitBeside => parse::junit(&ran.stderr, root),
        Report::Unittest => parse::unittest(&ran.stderr, root),
        Report::Jest => parse::jest(&ran.stdout, root),
        Report::Go { module } => parse::go(&ran.stdout, module),
        Report::JunitFiles(_) | Report::ExitCode => Tally::default(),
    }
}

/// Returns the report files that exist, each with what changes when it is written again.
async fn files_of(context: &ToolContext, report: &Report) -> Result<BTreeMap<String, (i128, u64)>, ToolError> {
    let Report::JunitFiles(folders) = report else { return Ok(BTreeMap::new()) };
    let folders = *folders;
    context.blocking(move |files, cancel| find_files(files, folders, cancel)).await
}

/// Finds the reports of the project and of the parts that have a folder of their own in it.
fn find_files(files: &Files, folders: &[&str], cancel: &Cancel) -> Result<BTreeMap<String, (i128, u64)>, ToolError> {
    let deadline = Instant::now() + REPORTS_TIME;
    let limits = |recursive| WalkLimits { recursive, deadline, cancel: cancel.clone() };
    let mut parts = vec![String::new()];
    files.walk("", &limits(false), &mut |entry| {
        parts.extend((entry.kind == EntryKind::Directory).then(|| entry.path.clone()));
        Ok(Flow::Continue)
    })?;
    let mut found = BTreeMap::new();
    for folder in parts.iter().flat_map(|part| folders.iter().map(move |folder| join(part, folder))) {
        // Most projects ignore what a build writes.
        let walked = files.walk_all(&folder, &limits(true), &mut |entry| {
            if entry.kind == EntryKind::File
                && entry.path.ends_with(".xml")
                && let Some(stamp) = entry.stamp()
            {
                found.insert(entry.path.clone(), (files.modified(&stamp), stamp.size));
            }
            Ok(Flow::Continue)
        });
        match walked {
            // Most parts have no reports.
            Ok(_) | Err(ToolError::Retry(_) | ToolError::Denied { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

async fn read_files(context: &ToolContext, paths: Vec<String>, root: String) -> Result<Tally, ToolError> {
    let read = move |files: &Files, _: &Cancel| {
        let mut tally = Tally::default();
        for path in paths {
            let (_, bytes) = files.read(&path)?;
            tally.add(parse::junit(&String::from_utf8_lossy(&bytes), &root));
        }
        Ok(tally)
    };
    context.blocking(read).await
}

fn answer(ran: &Ran, tally: Tally, report: &Report, others: &[&str]) -> Answer {
    let passed = ran.run.exit_code == Some(0);
    let failed = match (passed, report) {
        (true, Report::ExitCode) => None,
        (true, _) if tally.total() == 0 => Some("no test ran".to_owned()),
        (true, _) if tally.failed == 0 => None,
        _ if tally.failed > 0 => Some(format!("{} of {} tests failed", tally.failed, tally.total())),
        _ => Some(format!("the tests did not end well: {}", ran.how)),
    };
    let mut parts = Vec::new();
    match &failed {
        None if *report == Report::ExitCode => parts.push("the tests passed".to_owned()),
        None => parts.push(counts(&tally)),
        Some(why) if *report == Report::ExitCode => parts.push(why.clone()),
        Some(why) => parts.push(format!("{why} ({})", counts(&tally))),
    }
    parts.extend(tally.failures.iter().map(describe));
    if tally.failed == 0 && (failed.is_some() || *report == Report::ExitCode) {
        parts.push(ran.tail());
    }
    if !others.is_empty() {
        parts.push(format!("[not run: {}, which this project has as well]", others.join(", ")));
    }
    let exit_code = ran.run.exit_code;
    let Tally { passed, failed: failed_tests, skipped, failures } = tally;
    let results = TestResults { run: ran.run.clone(), passed, failed: failed_tests, skipped, failures };
    Answer { footer: Some(ran.footer()), failed, exit_code, ..Answer::new(parts.join("\n\n"), json!(results)) }
}

fn counts(tally: &Tally) -> String {
    format!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped)
}

fn describe(failure: &TestFailure) -> String {
    let place = match (&failure.file, failure.line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", shown(file)),
        _ => String::new(),
    };
    format!("{place}{}\n{}", shown(&failure.name), failure.message)
}
