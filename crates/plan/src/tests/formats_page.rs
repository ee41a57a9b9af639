//! `docs/plans.md`: the formats of plans that are recognised, each with its example, generated from
//! the table of formats.
//!
//! A test writes it, so that the program itself carries no generator; the same test fails when the
//! file is out of date.

use std::fmt::Write as _;

use crate::known_formats::formats;

/// The file, below this crate's folder.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plans.md");

/// If set to `write`, the test writes the file instead of comparing it.
const SWITCH: &str = "ORCHESTRATE_PLANS_PAGE";

const HEAD: &str = "# Formats of plans\n\n\
To run a plan of another tool, give it to `orchestrate` as it is.\n\n\
Such a plan is recognised by its structure, in any language, and read as that tool means it;\n\
`orchestrate check` says as what (`read as: spec-kit`). Each format is listed with what tells it from all\n\
others and with an example. How a plan of no known format is read is on the\n\
page about [plans and goals](goals.md).\n\n\
Generated from `crates/plan/src/formats/table.rs` by `just plan-formats`.\n";

/// Returns the page.
fn page() -> String {
    let mut page = HEAD.to_owned();
    for format in formats() {
        let fence = fence_around(format.example);
        let _ = write!(
            page,
            "\n## {}\n\nRecognised because {}.\n\n{fence}{}\n{}\n{fence}\n",
            format.name,
            format.signature,
            language(format.example),
            format.example.trim_end(),
        );
    }
    page
}

/// Returns the language of an example, for those who colour it.
fn language(example: &str) -> &'static str {
    match example.starts_with(['{', '[']) {
        true => "json",
        false => "markdown",
    }
}

/// Returns a fence that no fence within a text closes.
fn fence_around(text: &str) -> String {
    let longest = text
        .lines()
        .map(|line| line.trim_start())
        .map(|line| line.len() - line.trim_start_matches('`').len())
        .max();
    "`".repeat(longest.unwrap_or(0).max(2) + 1)
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the file is compared with, and written by this test alone"
)]
fn the_page_of_the_formats_is_up_to_date() {
    if std::env::var(SWITCH).is_ok_and(|value| value == "write") {
        std::fs::write(FILE, page()).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        written == page(),
        "docs/plans.md is not what the table says: type `just plan-formats`"
    );
}
