//! The walk-through: the typed lines, and the page that shows their output.
//!
//! The test that types the lines writes the page (`just record`), so nothing on it is made up.
//! Another test compares the page's lines with the typed ones.

use std::path::{Path, PathBuf};

use super::FOLDER;
use crate::support::{self, Outcome, Session, require_typed, transcript};

/// The typed lines, in order.
pub(super) const TYPED: [&str; 11] = [
    "orchestrate check plan.md",
    "orchestrate run plan.md",
    "orchestrate log T4 --tools",
    "orchestrate review",
    "orchestrate review T3",
    "orchestrate reject T3 --at crates/files/src/words.rs:5 -m 'Units are written in capital letters.' --follow",
    "orchestrate log T3 --tools",
    "orchestrate land",
    "git log --oneline --first-parent -6",
    "orchestrate land --undo",
    "orchestrate clean --ignored",
];

const PAGE: &str = "README.md";
/// How the compiler's lines about crates begin; there are dozens about other crates.
const OTHERS: [&str; 2] = ["Compiling ", "Checking "];

/// Writes what was typed and shown into the page, if that is asked for.
pub(super) fn record_if_asked(session: &Session<'_>) -> Outcome {
    support::record_if_asked(&page(), &transcript(session, "~/orchestrate", shortened)).map(drop)
}

fn page() -> PathBuf {
    Path::new(FOLDER).join(PAGE)
}

/// Replaces the lines about other crates with their number.
fn shortened(shown: &str) -> String {
    let is_other = |line: &str| {
        let line = line.trim_start_matches([' ', '|']);
        OTHERS.iter().any(|word| line.starts_with(word)) && !line.contains(" orchestrate-files ")
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
    require_typed(&page(), &TYPED)
}
