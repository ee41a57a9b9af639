//! The text of Rust's own test programs, and of those that print as they do.

use super::place::places;
use super::tally::Tally;

/// What follows a test's name if it is expected not to run or not to compile.
const EXPECTED: &[&str] = &[" - should panic", " - compile fail", " - compile"];

/// Reads the standard output of `cargo test`: any number of programs, one after another.
pub(crate) fn read(stdout: &str, root: &str) -> Tally {
    let mut tally = Tally::default();
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut is_in_failures = false;
    for line in stdout.lines() {
        if let Some(summary) = line.strip_prefix("test result: ") {
            tally.passed += count(summary, "passed");
            tally.skipped += count(summary, "ignored");
            fail_all(&mut tally, &mut blocks, root);
            is_in_failures = false;
        } else if line == "failures:" {
            is_in_failures = true;
        } else if let Some(name) = failed_name(line) {
            remember(&mut blocks, name);
        } else if is_in_failures {
            match heading(line) {
                Some(name) => {
                    remember(&mut blocks, name);
                    blocks.sort_by_key(|(known, _)| known == name);
                }
                None => append(&mut blocks, line),
            }
        }
    }
    // A program that crashed prints no result.
    fail_all(&mut tally, &mut blocks, root);
    tally
}

fn fail_all(tally: &mut Tally, blocks: &mut Vec<(String, String)>, root: &str) {
    for (name, text) in blocks.drain(..) {
        tally.fail(name, &message(&text), places(&text, root).into_iter().next());
    }
}

/// Adds a test that failed, unless it is known.
fn remember(blocks: &mut Vec<(String, String)>, name: &str) {
    if !blocks.iter().any(|(known, _)| known == name) {
        blocks.push((name.to_owned(), String::new()));
    }
}

/// Adds a line to what the last test printed; the list of names after the last one is no part of it.
fn append(blocks: &mut [(String, String)], line: &str) {
    let is_name = blocks.iter().any(|(name, _)| line.strip_prefix("    ") == Some(name));
    if let Some((_, text)) = blocks.last_mut().filter(|_| !is_name) {
        text.push_str(line);
        text.push('\n');
    }
}

/// Returns the name without what is expected of the test, as the other lines have it.
fn failed_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(EXPECTED.iter().find_map(|expected| name.strip_suffix(expected)).unwrap_or(name))
}

fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

/// Returns the number before a word, as in `1 passed; 2 failed;`.
fn count(summary: &str, word: &str) -> usize {
    let part = summary.split([';', '.']).map(str::trim).find_map(|part| part.strip_suffix(word));
    part.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// Leaves out the stack, which says less than the message.
pub(super) fn message(text: &str) -> String {
    let mut lines = Vec::new();
    let mut is_stack = false;
    for line in text.lines() {
        is_stack = line == "stack backtrace:" || (is_stack && line.starts_with(' '));
        let is_note = line.starts_with("note: Some details are omitted") || line.starts_with("note: run with `RUST_B");
        if !is_stack && !is_note {
            lines.push(line);
        }
    }
    lines.join("\n")
}
