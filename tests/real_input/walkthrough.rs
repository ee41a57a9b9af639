//! The walk-through: the typed lines, and the page that shows their output.
//!
//! The test that types the lines writes the page (`just record`), so nothing on it is made up.
//! Another test compares the page's lines with the typed ones.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;

use super::{FOLDER, example};
use crate::support::{Outcome, Session, fail};

/// The typed lines, in order.
pub(super) const TYPED: [&str; 11] = [
    "orchestrate check plan.md",
    "orchestrate run plan.md",
    "orchestrate log T4 --tools",
    "orchestrate review",
    "orchestrate review T3",
    "orchestrate reject T3 --at crates/core/src/question.rs:5 -m 'Questions to people begin with a capital letter.'",
    "orchestrate log T3 --tools",
    "orchestrate land",
    "git log --oneline --first-parent -6",
    "orchestrate land --undo",
    "orchestrate clean --ignored",
];

/// The environment variable that makes the test write the page.
const RECORD: &str = "ORCHESTRATE_RECORD";
const PAGE: &str = "README.md";
const BEGIN: &str = "<!-- recorded: begin -->\n";
const END: &str = "<!-- recorded: end -->";
/// How the compiler's lines about crates begin; there are dozens about other crates.
const OTHERS: [&str; 2] = ["Compiling ", "Checking "];

/// Writes what was typed and shown into the page, if [`RECORD`] is set.
pub(super) fn record_if_asked(session: &Session<'_>) -> Outcome {
    if std::env::var_os(RECORD).is_none() {
        return Ok(());
    }
    let mut recorded = String::new();
    for (line, shown) in session.typed() {
        let shown = session.names().iter().fold(shown.clone(), |text, (folder, name)| text.replace(folder, name));
        recorded.push_str(&format!("```console\n$ {line}\n{}```\n\n", shortened(&shown)));
    }
    let page = example(PAGE)?;
    let (before, rest) = page.split_once(BEGIN).ok_or_else(|| Failed::from("the page has no place for it"))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| Failed::from("the page's place has no end"))?;
    fs::write(Path::new(FOLDER).join(PAGE), format!("{before}{BEGIN}\n{recorded}{END}{after}"))?;
    Ok(())
}

/// Replaces the lines about other crates with their number.
fn shortened(shown: &str) -> String {
    let is_other = |line: &str| {
        let line = line.trim_start_matches([' ', '|']);
        OTHERS.iter().any(|word| line.starts_with(word)) && !line.contains(" orchestrate-core ")
    };
    let (mut text, mut left_out) = (String::new(), 0);
    for line in shown.lines() {
        if is_other(line) {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            text.push_str(&format!("  | [{left_out} lines about other crates]\n"));
            left_out = 0;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Requires that the page shows the lines that the test types.
pub(super) fn shows_what_is_tested() -> Outcome {
    let page = example(PAGE)?;
    let recorded = page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(recorded, _)| recorded);
    let recorded = recorded.ok_or_else(|| Failed::from("nothing is recorded"))?;
    let typed: Vec<&str> = recorded.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    if typed == TYPED { Ok(()) } else { fail(format!("the page shows {typed:#?}; write it anew: `just record`")) }
}
