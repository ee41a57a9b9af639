//! The text of Rust's own test programs, and of those that print as they do.
//!
//! What a test printed stands in the same text, and may look like it. Only lines that a program's
//! own runner can have written count: those between its heading and its result, whose numbers and
//! names have to agree with each other.

use super::place::places;
use super::tally::Tally;
use crate::answer::TestErrorKind;

/// What follows a test's name if it is expected not to run or not to compile.
const EXPECTED: &[&str] = &[" - should panic", " - compile fail", " - compile"];
/// What cargo says of a program of tests that failed, before the options that run it again.
const FAILED: &str = "est failed, to rerun pass ";
/// What cargo says of one that did not end as a runner of tests ends.
const CRASHED: &str = "process didn't exit successfully: ";

/// Reads the output of `cargo test`: any number of programs, one after another, and what cargo says
/// of each.
pub(crate) fn read(stdout: &str, stderr: &str, root: &str) -> Tally {
    let crashes = crashes(stderr);
    let lines: Vec<&str> = stdout.lines().collect();
    let mut tally = Tally::default();
    let mut has_ends = true;
    let mut rest = lines.as_slice();
    while let Some((at, tests)) = rest
        .iter()
        .enumerate()
        .find_map(|(at, line)| Some((at, heading(line)?)))
    {
        let (_, after) = rest.split_at(at + 1);
        let (program, length) = Program::read(after, tests, !crashes.is_empty(), &mut has_ends);
        program.add_to(&mut tally, root);
        if program.result.is_none() && crashes.is_empty() {
            tally.lose(
                TestErrorKind::Crash,
                "a test program",
                "its output ends before its result",
                None,
            );
        }
        (_, rest) = after.split_at(length);
    }
    for (name, message) in crashes {
        tally.lose(TestErrorKind::Crash, name, &message, None);
    }
    tally
}

/// What one program of tests printed.
#[derive(Default)]
struct Program<'a> {
    passed: usize,
    skipped: usize,
    /// The tests that failed, each with what it printed.
    failed: Vec<(&'a str, Vec<&'a str>)>,
    result: Option<Counts>,
}

/// The numbers of a result.
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// The end of the list of failures.
struct End<'a> {
    /// Where the list of names begins.
    at: usize,
    names: Vec<&'a str>,
    counts: Counts,
}

impl<'a> Program<'a> {
    /// Reads what follows the heading of a program with this number of tests, and returns the
    /// number of its lines.
    ///
    /// Only where a program crashed can another one's heading follow without a result. Once no list
    /// of failures ends in the rest of the output, none does further on, and none is looked for
    /// again.
    fn read(
        lines: &[&'a str],
        tests: usize,
        may_crash: bool,
        has_ends: &mut bool,
    ) -> (Program<'a>, usize) {
        let mut program = Program::default();
        for (at, line) in lines.iter().enumerate() {
            if may_crash && heading(line).is_some() {
                return (program, at);
            }
            let result = Counts::read(line, "ok").filter(|counts| counts.total() == tests);
            if result.is_some() {
                program.result = result;
                return (program, at + 1);
            }
            let (_, after) = lines.split_at(at + 1);
            if *has_ends && *line == "failures:" {
                if let Some(end) = program.end(after, tests) {
                    let length = at + 1 + end.at + end.names.len() + 3;
                    let (printed, _) = after.split_at(end.at);
                    program.fail(printed, &end.names);
                    program.result = Some(end.counts);
                    return (program, length);
                }
                *has_ends = false;
            }
            program.note(line);
        }
        (program, lines.len())
    }

    /// Notes how a test ended.
    fn note(&mut self, line: &'a str) {
        let Some((name, status)) = line
            .strip_prefix("test ")
            .and_then(|line| line.rsplit_once(" ... "))
        else {
            return;
        };
        match status {
            "ok" => self.passed += 1,
            "FAILED" => self.failed.push((test_name(name), Vec::new())),
            _ if status == "ignored" || status.starts_with("ignored, ") => self.skipped += 1,
            _ => {}
        }
    }

    /// Finds the names and the result after the failures. A test may have printed such lines too,
    /// so the numbers have to be those of this program, and the names those that it said have
    /// failed, if any are.
    fn end(&self, lines: &[&'a str], tests: usize) -> Option<End<'a>> {
        let known: Vec<&str> = self.failed.iter().map(|(name, _)| *name).collect();
        let (mut first, mut with_sum) = (None, None);
        for end in (0..lines.len()).filter_map(|at| End::read(lines, at)) {
            if end.counts.total() != tests {
                first.get_or_insert(end);
            } else if end.names.iter().all(|name| known.contains(name)) {
                return Some(end);
            } else {
                with_sum.get_or_insert(end);
            }
        }
        with_sum.or(first)
    }

    /// Adds the failures that are listed, with what each test printed.
    fn fail(&mut self, printed: &[&'a str], names: &[&'a str]) {
        self.failed.retain(|(name, _)| names.contains(name));
        for name in names {
            if !self.failed.iter().any(|(known, _)| known == name) {
                self.failed.push((name, Vec::new()));
            }
        }
        let mut seen: Vec<&str> = Vec::new();
        for line in printed {
            let begun = title(line).filter(|name| names.contains(name) && !seen.contains(name));
            seen.extend(begun);
            if begun.is_some() {
                continue;
            }
            let test = seen
                .last()
                .and_then(|last| self.failed.iter_mut().find(|(name, _)| name == last));
            if let Some((_, text)) = test {
                text.push(line);
            }
        }
    }

    fn add_to(&self, tally: &mut Tally, root: &str) {
        let (passed, skipped) = self
            .result
            .as_ref()
            .map_or((self.passed, self.skipped), |counts| {
                (counts.passed, counts.skipped)
            });
        tally.passed += passed;
        tally.skipped += skipped;
        for (name, text) in &self.failed {
            let text = text.join("\n");
            tally.fail(
                *name,
                &message(&text),
                places(&text, root).into_iter().next(),
            );
        }
    }
}

impl<'a> End<'a> {
    /// Reads the end whose list of names begins at this line.
    fn read(lines: &[&'a str], at: usize) -> Option<End<'a>> {
        let (first, after) = lines.get(at..)?.split_first()?;
        if *first != "failures:" {
            return None;
        }
        let names: Vec<&str> = after
            .iter()
            .map_while(|line| line.strip_prefix("    "))
            .collect();
        let [blank, result] = after.get(names.len()..names.len() + 2)? else {
            return None;
        };
        let counts =
            Counts::read(result, "FAILED").filter(|counts| counts.failed == names.len())?;
        blank.is_empty().then_some(End { at, names, counts })
    }
}

/// Returns the number before a word in a summary, as in `3 passed; 1 failed`.
fn count(summary: &str, word: &str) -> Option<usize> {
    summary
        .split(';')
        .find_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok())
}

impl Counts {
    /// Reads a result that ends in this way.
    fn read(line: &str, outcome: &str) -> Option<Counts> {
        let summary = line
            .strip_prefix("test result: ")?
            .strip_prefix(outcome)?
            .strip_prefix(". ")?;
        let measured = count(summary, "measured").unwrap_or(0);
        Some(Counts {
            passed: count(summary, "passed")? + measured,
            failed: count(summary, "failed")?,
            skipped: count(summary, "ignored")?,
        })
    }

    fn total(&self) -> usize {
        self.passed + self.failed + self.skipped
    }
}

/// Returns the number of tests that a program's first line announces.
fn heading(line: &str) -> Option<usize> {
    let (number, rest) = line.strip_prefix("running ")?.split_once(" test")?;
    let is_heading =
        matches!(rest, "" | "s") || rest.trim_start_matches('s').starts_with(" (shuffle seed: ");
    number.parse().ok().filter(|_| is_heading)
}

/// Returns the name without what is expected of the test, and without its kind, as the other lines
/// have it.
fn test_name(name: &str) -> &str {
    let name = name.trim_end();
    let name = EXPECTED
        .iter()
        .find_map(|expected| name.strip_suffix(expected))
        .unwrap_or(name);
    name.strip_prefix('[')
        .and_then(|name| name.split_once("] "))
        .map_or(name, |(_, name)| name)
}

/// Returns the test whose output follows.
fn title(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

/// Returns the command that runs each crashed program again, and what was said of it.
fn crashes(stderr: &str) -> Vec<(String, String)> {
    let mut programs: Vec<Vec<&str>> = Vec::new();
    for line in stderr.lines() {
        let begun = line.trim_start();
        if begun.starts_with("Running ") || begun.starts_with("Doc-tests ") {
            programs.push(Vec::new());
        } else if let Some(program) = programs.last_mut() {
            program.push(line);
        }
    }
    programs.iter().filter_map(|lines| crash(lines)).collect()
}

/// Returns the crash of a program of which this was said.
fn crash(lines: &[&str]) -> Option<(String, String)> {
    let failed = lines
        .iter()
        .position(|line| line.starts_with("error: ") && line.contains(FAILED))?;
    let caused = failed
        + lines
            .get(failed..)?
            .iter()
            .position(|line| line.trim_start().starts_with(CRASHED))?;
    let (_, options) = lines.get(failed)?.split_once(FAILED)?;
    let message = lines.get(..=caused)?.join("\n");
    Some((
        format!("cargo test {}", options.trim_matches(['`', '\''])),
        message,
    ))
}

/// Leaves out the stack, which says less than the message.
pub(super) fn message(text: &str) -> String {
    let mut lines = Vec::new();
    let mut is_stack = false;
    for line in text.lines() {
        is_stack = line == "stack backtrace:" || (is_stack && line.starts_with(' '));
        let is_note = line.starts_with("note: Some details are omitted")
            || line.starts_with("note: run with `RUST_B");
        if !is_stack && !is_note {
            lines.push(line);
        }
    }
    lines.join("\n")
}
