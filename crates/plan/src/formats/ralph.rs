//! Ralph's list of tasks: `fix_plan.md`, `@fix_plan.md`.
//!
//! Each box is a task, and priorities follow each other. What is optional or for the future does
//! not hold the end up; what is below a heading of completed work is done.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Open, Scope};
use crate::tasks::phase;
use crate::tasks::section::Kind;

pub(crate) const FORMAT: Format = Format {
    name: "ralph-fix-plan",
    claims,
    boxes: Boxes::Are(boxed),
    boxes_are_all: true,
    finish: Some(finish),
    example: include_str!("ralph.md"),
    ..Format::NONE
};

/// The title, with which alone a document is no such list.
const TITLE: &str = "fix plan";

/// The beginning of the headings of what may be done last, beside those that say so.
const FUTURE: &str = "future";

/// The minimum number of priorities.
const LEAST: usize = 2;

fn claims(document: &Document<'_, '_>) -> Claim {
    let has_title = document
        .headings
        .first()
        .is_some_and(|first| first.title.to_lowercase().contains(TITLE));
    let has_sections = document.has_heading("Completed") && document.has_heading("Notes");
    let priorities = document
        .headings
        .iter()
        .filter(|own| is_priority(own))
        .count();
    let is_flat = document.boxes.iter().all(|own| own.depth == 0);
    Claim::mine_if(
        (has_title || has_sections) && priorities >= LEAST && is_flat,
        "its headings are priorities, below the title of a fix plan",
    )
}

fn is_priority(heading: &Heading) -> bool {
    phase::of_heading(&heading.title).is_some_and(|phase| phase.label.is_none())
}

fn boxed(_item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    match scope.sections.iter().find(|open| is_left_out(open)) {
        Some(open) => Decision::not_run(open.reason()),
        None => Decision::Task,
    }
}

/// Reports whether nothing below a heading is to be done.
fn is_left_out(open: &Open) -> bool {
    match open.kind {
        Kind::Waiting => true,
        Kind::Dropped => !is_future(&open.title),
        _ => false,
    }
}

fn is_future(title: &str) -> bool {
    title.to_lowercase().starts_with(FUTURE)
}

/// Makes what is below a heading of the future optional.
fn finish(document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    for heading in document.headings.iter().filter(|own| is_future(&own.title)) {
        let own = found.drafts_in(&document.section(heading));
        for draft in found.drafts.iter_mut().take(own.end).skip(own.start) {
            draft.optional = true;
        }
    }
}
