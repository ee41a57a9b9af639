//! `run_tests`: runs the project's tests with its own runner, and tells which failed, why and
//! where.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::candidate::{Ran, choose, first_of};
use super::parse::{self, MAX_KEPT, Tally};
use super::project::Project;
use super::runners::{Report, Runner, runners, takes_pattern};
use super::unmatched::is_unmatched;
use crate::answer::{Answer, TestError, TestErrorKind, TestFailure, TestResults, ToolError};
use crate::files::path::join;
use crate::files::{Entry, EntryKind, Files, Flow, WalkLimits};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Look, Prepared, Programs, Prompt, Tool, ToolContext};

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
    facts!("run_tests", EXEC, CodeExecution, is_default: false);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, scope, arguments: Arguments| {
            let pattern = arguments.test_pattern.as_deref();
            let suites = Suites::find(files, &scope.cancel, pattern)?;
            require_pattern(pattern, &suites.candidates)
        });
        Ok(Prepared {
            fault: require_name(&arguments).err(),
            programs: Some(programs),
            rehearsal: Some(rehearsal),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { test_pattern } = read(arguments)?;
        let pattern = test_pattern.clone();
        let suites = context
            .blocking(move |files, cancel| Suites::find(files, cancel, pattern.as_deref()))
            .await?;
        let Suites { candidates, others } = suites;
        let chosen = choose(context, candidates).await?;
        require_pattern(
            test_pattern.as_deref(),
            std::slice::from_ref(&chosen.candidate),
        )?;
        let before = files_of(context, &chosen.candidate.report).await?.files;
        let ran = chosen.run(context).await?;
        let report = chosen.candidate.report;
        let mut saved = files_of(context, &report).await?;
        saved
            .files
            .retain(|path, state| before.get(path) != Some(state));
        let root = context.worktree().to_string_lossy().into_owned();
        // A large report takes a while to read.
        let told = move |files: &Files, cancel: &Cancel| {
            let tally = match &report {
                Report::JunitFiles(_) => read_files(files, saved, &root, cancel)?,
                report => read_output(report, &ran, &root),
            };
            let unmatched = test_pattern
                .as_deref()
                .filter(|_| is_unmatched(&ran, &tally, &report));
            Ok(answer(&ran, tally, &report, &others, unmatched))
        };
        context.blocking(told).await
    }
}

fn programs(arguments: &Value, project: &Files) -> Result<Programs, ToolError> {
    let pattern = arguments.get("test_pattern").and_then(Value::as_str);
    let candidates = runners(&Project::look(project, &Cancel::default())?, pattern)
        .into_iter()
        .next();
    Ok(first_of(&candidates.unwrap_or_default()))
}

/// Requires that a pattern is no option of a program.
fn require_name(arguments: &Value) -> Result<(), ToolError> {
    let pattern = arguments.get("test_pattern").and_then(Value::as_str);
    match pattern.unwrap_or("x") {
        "" => Err(invalid(
            "`test_pattern` is empty; leave it out to run all tests",
        )),
        pattern if pattern.starts_with('-') => {
            Err(invalid("`test_pattern` begins with `-`, like an option"))
        }
        pattern if pattern.contains('\0') => Err(invalid("`test_pattern` contains a NUL byte")),
        _ => Ok(()),
    }
}

/// What can run a project's tests.
struct Suites {
    /// The programs for the tests that are run.
    candidates: Vec<Runner>,
    /// The programs of the tests of other languages.
    others: Vec<&'static str>,
}

impl Suites {
    /// Looks at a project.
    ///
    /// # Errors
    /// `Retry` if it has no tests that this can run.
    fn find(files: &Files, cancel: &Cancel, pattern: Option<&str>) -> Result<Suites, ToolError> {
        let mut groups = runners(&Project::look(files, cancel)?, pattern).into_iter();
        let candidates = groups.next().ok_or_else(no_tests)?;
        let others = groups
            .filter_map(|group| Some(group.first()?.program))
            .collect();
        Ok(Suites { candidates, others })
    }
}

/// Requires that one of these programs can run a part of the tests, if a call names one.
fn require_pattern(pattern: Option<&str>, candidates: &[Runner]) -> Result<(), ToolError> {
    match candidates.first() {
        Some(first) if pattern.is_some() && !candidates.iter().any(takes_pattern) => {
            let program = first.program;
            Err(invalid(&format!(
                "`{program}` runs all tests or none; leave `test_pattern` out"
            )))
        }
        _ => Ok(()),
    }
}

fn no_tests() -> ToolError {
    let kinds = "Cargo.toml, go.mod, pyproject.toml or test files of Python, package.json with a \
                 script `test`, pom.xml, build.gradle, CMakeLists.txt or a Makefile with a target \
                 `test`";
    ToolError::Retry(format!(
        "found no tests that this can run: the worktree's root has none of {kinds}; run the tests \
         with run_shell_command"
    ))
}

/// Reads a report that the program printed.
fn read_output(report: &Report, ran: &Ran, root: &str) -> Tally {
    let program = &ran.run.program;
    let tally = match report {
        Report::Libtest => Some(parse::libtest(&ran.stdout, &ran.stderr, root)),
        Report::Nextest => Some(parse::nextest(&ran.stdout, root)),
        Report::Junit => parse::junit(&ran.stdout, program, root),
        Report::JunitBeside => parse::junit(&ran.stderr, program, root),
        Report::Unittest => Some(parse::unittest(&ran.stderr, root)),
        Report::Jest => parse::jest(&ran.stdout, root),
        Report::Go { module } => Some(parse::go(&ran.stdout, module)),
        Report::JunitFiles(_) | Report::ExitCode => Some(Tally::default()),
    };
    tally.unwrap_or_else(|| without_report(ran))
}

/// A program that failed says why; one that ended well has a report somewhere.
fn without_report(ran: &Ran) -> Tally {
    let mut tally = Tally::default();
    if ran.run.exit_code == Some(0) {
        let name = format!("the report of {}", ran.run.program);
        tally.lose(
            TestErrorKind::Report,
            name,
            "nothing in its output can be read as one",
            None,
        );
    }
    tally
}

/// The reports in files.
#[derive(Default)]
struct Saved {
    /// Those that exist, each with what changes when it is written again.
    files: BTreeMap<String, (i128, u64)>,
    /// The folders in which rules hide all of them.
    hidden: Vec<String>,
}

async fn files_of(context: &ToolContext, report: &Report) -> Result<Saved, ToolError> {
    let Report::JunitFiles(folders) = report else {
        return Ok(Saved::default());
    };
    let folders = *folders;
    context
        .blocking(move |files, cancel| find_files(files, folders, cancel))
        .await
}

/// Finds the reports of the project and of its parts, which may be in any folder of it.
fn find_files(files: &Files, folders: &[&str], cancel: &Cancel) -> Result<Saved, ToolError> {
    let limits = WalkLimits::within(REPORTS_TIME, cancel);
    let mut parts = vec![String::new()];
    files
        .walk("", &limits, &mut |entry| {
            parts.extend((entry.kind == EntryKind::Directory).then(|| entry.path.clone()));
            Ok(Flow::Continue)
        })
        .map_err(too_many_files)?;
    let mut saved = Saved::default();
    for folder in parts
        .iter()
        .flat_map(|part| folders.iter().map(move |folder| join(part, folder)))
    {
        // Most projects ignore what a build writes.
        let known = saved.files.len();
        let walked = files.walk_all(&folder, &limits, &mut |entry| {
            if is_report(entry)
                && let Some(stamp) = entry.stamp()
            {
                saved
                    .files
                    .insert(entry.path.clone(), (files.modified(&stamp), stamp.size));
            }
            Ok(Flow::Continue)
        });
        match walked {
            Ok(summary) if summary.hidden > 0 && saved.files.len() == known => {
                saved.hidden.push(folder)
            }
            // Most parts have no reports.
            Ok(_) | Err(ToolError::Retry(_) | ToolError::Denied { .. }) => {}
            Err(error) => return Err(too_many_files(error)),
        }
    }
    Ok(saved)
}

/// TestNG writes results a second time, into a folder of its own.
fn is_report(entry: &Entry) -> bool {
    entry.kind == EntryKind::File
        && entry.path.ends_with(".xml")
        && !entry.path.contains("/junitreports/")
}

fn too_many_files(error: ToolError) -> ToolError {
    match error {
        ToolError::TooBroad(_) => ToolError::TooBroad(
            "the project has too many files to look for reports; run the tests with \
             run_shell_command"
                .to_owned(),
        ),
        error => error,
    }
}

fn read_files(
    files: &Files,
    reports: Saved,
    root: &str,
    cancel: &Cancel,
) -> Result<Tally, ToolError> {
    let mut tally = Tally::default();
    for folder in reports.hidden {
        tally.lose(
            TestErrorKind::Report,
            folder,
            "the rules about files hide what is in it",
            None,
        );
    }
    for path in reports.files.into_keys() {
        if cancel.is_cancelled() {
            return Err(ToolError::Interrupted(
                "the reports were not read to their end".to_owned(),
            ));
        }
        match files.read(&path) {
            Ok((_, bytes)) => tally.add(parse::junit_file(
                &String::from_utf8_lossy(&bytes),
                &path,
                root,
            )),
            Err(
                error @ (ToolError::Retry(_) | ToolError::Denied { .. } | ToolError::File { .. }),
            ) => {
                tally.lose(TestErrorKind::Report, path, &error.to_string(), None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(tally)
}

/// Creates the answer; `unmatched` is the pattern if no test matches it.
fn answer(
    ran: &Ran,
    tally: Tally,
    report: &Report,
    others: &[&str],
    unmatched: Option<&str>,
) -> Answer {
    let failed = match unmatched {
        Some(pattern) => Some(no_match(pattern, &tally)),
        None => fault(ran, &tally, report),
    };
    let has_counts = *report != Report::ExitCode;
    let mut parts = vec![match &failed {
        None if has_counts => counts(&tally),
        None => "the tests passed".to_owned(),
        Some(why) if has_counts => format!("{why} ({})", counts(&tally)),
        Some(why) => why.clone(),
    }];
    parts.extend(tally.failures.iter().map(describe));
    parts.extend(tally.errors.iter().map(describe_error));
    if tally.failures.len() >= MAX_KEPT {
        parts.push(format!("[not more than {MAX_KEPT} failures are listed]"));
    }
    let is_explained = tally.failed > 0 || !tally.errors.is_empty();
    if !is_explained && (failed.is_some() || !has_counts) {
        parts.push(ran.tail());
    }
    if !others.is_empty() {
        parts.push(format!(
            "[not run: {}, which this project has as well]",
            others.join(", ")
        ));
    }
    let exit_code = ran.run.exit_code;
    let Tally {
        passed,
        failed: failed_tests,
        skipped,
        failures,
        errors,
    } = tally;
    let results = TestResults {
        run: ran.run.clone(),
        passed,
        failed: failed_tests,
        skipped,
        failures,
        errors,
    };
    let (footer, is_correctable) = (Some(ran.footer()), unmatched.is_some());
    Answer {
        footer,
        failed,
        is_correctable,
        exit_code,
        ..Answer::new(parts.join("\n\n"), json!(results))
    }
}

/// Says what is wrong; `None` if tests ran and all went well, by what was reported of them and by
/// the exit code.
fn fault(ran: &Ran, tally: &Tally, report: &Report) -> Option<String> {
    let exited_well = ran.run.exit_code == Some(0);
    let mut faults = Vec::new();
    if tally.failed > 0 {
        let but = if exited_well {
            ", although the exit code is 0"
        } else {
            ""
        };
        faults.push(format!(
            "{} of {} tests failed{but}",
            tally.failed,
            tally.total()
        ));
    }
    faults.extend(lost(tally));
    if !faults.is_empty() {
        return Some(faults.join("; "));
    }
    match exited_well {
        false => Some(format!("the tests did not end well: {}", ran.how)),
        true if *report != Report::ExitCode && tally.total() == 0 => Some("no test ran".to_owned()),
        true => None,
    }
}

/// Says that not the project's tests are at fault, but the pattern.
fn no_match(pattern: &str, tally: &Tally) -> String {
    let none = if tally.skipped > 0 {
        "no test that is enabled matches"
    } else {
        "no test matches"
    };
    format!(
        "{none} `{}`, so none ran; name tests as their runner does, or leave `test_pattern` out",
        shown(pattern)
    )
}

/// Says which results are lost.
fn lost(tally: &Tally) -> Option<String> {
    let (first, more) = tally.errors.split_first()?;
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(", and {} more errors", more.len())
    };
    let only_uncollected = tally
        .errors
        .iter()
        .all(|error| error.kind == TestErrorKind::Collection);
    let what = if tally.total() == 0 && only_uncollected {
        "no test ran"
    } else {
        "results may be incomplete"
    };
    Some(format!("{what}: {}{more}", headline(first)))
}

fn headline(error: &TestError) -> String {
    let name = shown(&error.name);
    match error.kind {
        TestErrorKind::Collection => format!("collection error in {name}"),
        TestErrorKind::Crash => format!("{name} crashed"),
        TestErrorKind::Report => format!("cannot read {name}"),
    }
}

fn counts(tally: &Tally) -> String {
    format!(
        "{} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.skipped
    )
}

fn describe(failure: &TestFailure) -> String {
    let TestFailure {
        name,
        message,
        file,
        line,
    } = failure;
    format!(
        "{}{}\n{message}",
        place(file.as_deref(), *line),
        shown(name)
    )
}

fn describe_error(error: &TestError) -> String {
    format!(
        "{}{}\n{}",
        place(error.file.as_deref(), error.line),
        headline(error),
        error.message
    )
}

fn place(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", shown(file)),
        _ => String::new(),
    }
}
