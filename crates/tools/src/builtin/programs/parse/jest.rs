//! The JSON of jest, which vitest writes, too.

use serde::Deserialize;

use super::place::{inside, places};
use super::tally::Tally;
use crate::answer::TestErrorKind;

/// How many times the output may be read in search of the report. Each object is read once with
/// each one around it, and those of a report are nested less deeply; a test may print any number of
/// them.
const READINGS: usize = 16;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    test_results: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    assertion_results: Vec<Case>,
    status: String,
    #[serde(default)]
    message: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    full_name: String,
    status: String,
    #[serde(default)]
    failure_messages: Option<Vec<String>>,
}

/// Reads the standard output of `jest --json` or `vitest run --reporter=json`, which may begin with
/// other lines; `None` if there is no report in it.
pub(crate) fn read(stdout: &str, root: &str) -> Option<Tally> {
    let mut tally = Tally::default();
    for file in report(stdout)?.test_results {
        for case in &file.assertion_results {
            match case.status.as_str() {
                "passed" => tally.passed += 1,
                "failed" => {
                    let said = case
                        .failure_messages
                        .iter()
                        .flatten()
                        .map(|said| without_stack(said, root));
                    let message = said.collect::<Vec<_>>().join("\n");
                    let place = places(&message, root).into_iter().next();
                    tally.fail(case.full_name.clone(), &message, place);
                }
                _ => tally.skipped += 1,
            }
        }
        if file.status == "failed" && file.assertion_results.is_empty() {
            let name = inside(&file.name, root).unwrap_or(file.name);
            let place = places(&file.message, root).into_iter().next();
            tally.lose(TestErrorKind::Collection, name, &file.message, place);
        }
    }
    Some(tally)
}

/// Returns the last report: tests may print others before.
fn report(stdout: &str) -> Option<Report> {
    let mut left = stdout.len().saturating_mul(READINGS);
    for (at, _) in stdout.rmatch_indices("{\"") {
        let text = stdout.get(at..)?;
        match serde_json::Deserializer::from_str(text)
            .into_iter()
            .next()?
        {
            Ok(report) => return Some(report),
            Err(error) => left = left.checked_sub(position(text, &error))?,
        }
    }
    None
}

/// Returns the number of bytes that were read before an error.
fn position(text: &str, error: &serde_json::Error) -> usize {
    let lines = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}

/// Leaves out the frames outside the project.
fn without_stack(message: &str, root: &str) -> String {
    let lines = message
        .lines()
        .filter(|line| !is_frame(line) || !places(line, root).is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

fn is_frame(line: &str) -> bool {
    line.starts_with("    at ")
}
