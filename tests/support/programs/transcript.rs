//! Pages that show what a test typed, and what was printed.
//!
//! The test that types the lines writes the page (`just record`), so nothing on it is made up.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;

use crate::support::{Outcome, Session};

/// The environment variable that makes tests write their pages.
const RECORD: &str = "ORCHESTRATE_RECORD";
const BEGIN: &str = "<!-- recorded: begin -->\n";
const END: &str = "<!-- recorded: end -->";

/// Returns what was typed and shown as it stands on a page: the session's folder has another name,
/// and each output is shortened by a function.
pub(crate) fn transcript(
    session: &Session<'_>,
    folder: &str,
    shortened: fn(&str) -> String,
) -> String {
    let names = session.names(folder);
    let mut recorded = String::new();
    for (line, shown) in session.typed() {
        let shown = names
            .iter()
            .fold(shown.clone(), |text, (path, name)| text.replace(path, name));
        recorded.push_str(&format!(
            "```console\n$ {line}\n{}```\n\n",
            shortened(&shown)
        ));
    }
    recorded
}

/// Writes a transcript into a page if [`RECORD`] is set; returns whether it did.
pub(crate) fn record_if_asked(page: &Path, recorded: &str) -> Result<bool, Failed> {
    if std::env::var_os(RECORD).is_none() {
        return Ok(false);
    }
    let text = fs::read_to_string(page)?;
    let [before, _, after] = parts(&text)?;
    fs::write(page, format!("{before}{BEGIN}\n{recorded}{END}{after}"))?;
    Ok(true)
}

/// Returns the recorded part of a page.
pub(crate) fn recorded(page: &Path) -> Result<String, Failed> {
    let text = fs::read_to_string(page)?;
    let [_, recorded, _] = parts(&text)?;
    Ok(recorded.trim_start_matches('\n').to_owned())
}

/// Requires that a page shows these lines as typed.
pub(crate) fn require_typed(page: &Path, expected: &[&str]) -> Outcome {
    let recorded = recorded(page)?;
    let typed: Vec<&str> = recorded
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    assert_eq!(
        typed, expected,
        "the page shows {typed:#?}; write it anew: `just record`"
    );
    Ok(())
}

/// Splits a page into what is before, in, and after its recorded part.
fn parts(page: &str) -> Result<[&str; 3], Failed> {
    let (before, rest) = page
        .split_once(BEGIN)
        .ok_or_else(|| Failed::from("the page has no place for a record"))?;
    let (recorded, after) = rest
        .split_once(END)
        .ok_or_else(|| Failed::from("the record on the page has no end"))?;
    Ok([before, recorded, after])
}
