//! Antigravity's design of a change: `implementation_plan.md`.
//!
//! It names the files that one agent changes, `[MODIFY]`, `[NEW]` or `[DELETE]`; so the whole of it
//! is one goal.

use crate::formats::document::{Document, Heading};
use crate::formats::format::{Claim, Format};

pub(crate) const FORMAT: Format = Format {
    name: "antigravity-plan",
    claims,
    example: include_str!("antigravity_plan.md"),
    ..Format::NONE
};

/// What stands before the name of a file in a heading.
const MARKS: &[&str] = &["[MODIFY]", "[NEW]", "[DELETE]"];

/// What a heading contains that leads to a file, whatever the mark before it.
const LINK: &str = "](file:///";

fn claims(document: &Document<'_, '_>) -> Claim {
    let mut headings = document.headings.iter();
    let has_files = headings.any(|own| names_file(document, own));
    let mut boxes = document.boxes.iter();
    let are_checks = boxes.all(|own| document.is_check(own));
    Claim::mine_if(
        has_files && are_checks,
        "its headings name the files to change ([MODIFY], [NEW])",
    )
}

fn names_file(document: &Document<'_, '_>, own: &Heading) -> bool {
    let written = document.source.slice(own.range.clone());
    let title = written.trim_start_matches(['#', ' ']);
    let is_linked = title.starts_with('[') && title.contains(LINK);
    is_linked || MARKS.iter().any(|mark| title.starts_with(mark))
}
