//! The text of Python's own test runner.

use std::collections::BTreeSet;

use super::place::inside;
use super::tally::Tally;
use crate::answer::TestErrorKind;

/// The line between failures.
const RULE: &str = "======================================================================";
/// The line below a failure's name, and below the last failure.
const THIN_RULE: &str = "----------------------------------------------------------------------";

/// What runs around tests, and counts as none of them.
const AROUND: &[&str] = &[
    "setUpClass ",
    "tearDownClass ",
    "setUpModule ",
    "tearDownModule ",
];

/// The class of the test that stands for a file that cannot be imported.
const NOT_IMPORTED: &str = " (unittest.loader._FailedTest";

/// Reads the standard error of `python -m unittest`.
pub(crate) fn read(stderr: &str, root: &str) -> Tally {
    let mut tally = Tally::default();
    // A test whose parts fail has several failures, and is still one test.
    let (mut failed, mut around) = (BTreeSet::new(), BTreeSet::new());
    for block in stderr
        .split(RULE)
        .skip(1)
        .map(|block| block.trim_start_matches('\n'))
    {
        let Some((heading, text)) = block.split_once(&format!("\n{THIN_RULE}\n")) else {
            continue;
        };
        let text = text.split(THIN_RULE).next().unwrap_or_default().trim_end();
        for name in heading
            .lines()
            .filter_map(|line| line.strip_prefix("UNEXPECTED SUCCESS: "))
        {
            failed.insert(name);
            tally.fail(full_name(name), "unexpected success", None);
        }
        let (kind, name) = heading
            .lines()
            .next()
            .unwrap_or_default()
            .split_once(": ")
            .unwrap_or(("", heading));
        if matches!(kind, "FAIL" | "ERROR") {
            let test = name.split_inclusive(')').next().unwrap_or(name);
            if let Some((module, _)) = name.split_once(NOT_IMPORTED) {
                tally.lose(TestErrorKind::Collection, module, text, place(text, root));
                continue;
            }
            if AROUND.iter().any(|step| name.starts_with(step)) {
                around.insert(name)
            } else {
                failed.insert(test)
            };
            tally.fail(full_name(name), text, place(text, root));
        }
    }
    let (ran, outcome) = summary(stderr);
    tally.skipped = count(outcome, "skipped=") + count(outcome, "expected failures=");
    tally.passed = ran.saturating_sub(failed.len() + tally.skipped + tally.errors.len());
    tally.failed = failed.len() + around.len();
    tally
}

/// Returns `test_sums.Sums.test_adds` for `test_adds (test_sums.Sums.test_adds)`, also as older
/// versions print it.
fn full_name(name: &str) -> String {
    let Some((method, rest)) = name.split_once(" (") else {
        return name.to_owned();
    };
    let (class, part) = rest.split_once(')').unwrap_or((rest, ""));
    let is_full = class == method || class.ends_with(&format!(".{method}"));
    if is_full {
        format!("{class}{part}")
    } else {
        format!("{class}.{method}{part}")
    }
}

/// Returns the last place of a traceback that belongs to the project.
fn place(text: &str, root: &str) -> Option<(String, u32)> {
    let frames = text.lines().filter_map(|line| {
        line.trim_start()
            .strip_prefix("File \"")?
            .split_once("\", line ")
    });
    let mut known = frames.filter_map(|(file, rest)| {
        let line = rest
            .split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()?;
        Some((inside(file, root)?, line))
    });
    known.next_back()
}

/// Returns the number of tests that ran, and the line that says how they ended; what a test printed
/// comes before.
fn summary(stderr: &str) -> (usize, &str) {
    let last = stderr
        .rsplit_once(&format!("{THIN_RULE}\nRan "))
        .map_or("", |(_, last)| last);
    let mut lines = last.lines();
    let ran = lines
        .next()
        .and_then(|line| line.split(' ').next()?.parse().ok())
        .unwrap_or(0);
    (ran, lines.find(|line| !line.is_empty()).unwrap_or_default())
}

/// Returns the number after a word, as in `(failures=1, expected failures=2)`.
fn count(outcome: &str, word: &str) -> usize {
    let inner = outcome
        .split_once('(')
        .map_or("", |(_, inner)| inner.trim_end_matches(')'));
    let number = inner.split(", ").find_map(|part| part.strip_prefix(word));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
