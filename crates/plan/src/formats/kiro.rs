//! Kiro's `.kiro/specs/*/tasks.md`, and those of cc-sdd: numbered boxes on two levels.
//!
//! A box with boxes numbered under it, below or beside it, is their group. The requirements that a
//! task is for stand in italics as its last item; `[ ]*` is optional, and `[-]` is in progress.

use crate::finding::Findings;
use crate::formats::agent_os;
use crate::formats::collected::Collected;
use crate::formats::document::{BoxedItem, Document};
use crate::formats::finish;
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};
use crate::formats::numbered_boxes;
use crate::formats::numbers::{self, number};
use crate::lines::outline::Block;
use crate::tasks::draft::items_of;
use crate::tasks::parts;

pub(crate) const FORMAT: Format = Format {
    name: "kiro",
    claims,
    boxes: Boxes::Are(boxed),
    ticks_parts: true,
    finish: Some(refine),
    dash_is_progress: true,
    example: include_str!("kiro.md"),
    ..Format::NONE
};

/// The line with which cc-sdd says that a task is blocked.
const BLOCKING: &str = "_Blocked:";

fn claims(document: &Document<'_, '_>) -> Claim {
    let numbered = document
        .boxes
        .iter()
        .filter(|boxed| number(document.text(boxed)).is_some());
    let are_most = numbered.count() * 2 > document.boxes.len();
    if !are_most || !is_marked(document) || agent_os::has_groups(document) {
        return Claim::NotMine;
    }
    let mut headings = document.headings.iter();
    match headings.find(|heading| numbers::is_task(&heading.title)) {
        Some(task) => {
            let title = &task.title;
            Claim::Contradicting(format!("it has numbered boxes and the heading \"{title}\""))
        }
        None => {
            Claim::Mine("its numbered boxes have the marks of Kiro (`_…: 1.2_`, `[ ]*`, `(P)`)")
        }
    }
}

/// Reports whether boxes have marks that only this format has.
pub(crate) fn is_marked(document: &Document<'_, '_>) -> bool {
    let mut boxes = document.boxes.iter();
    let mut items = document.blocks.iter().flat_map(items_of);
    items.any(|item| names_requirements(document, &item.blocks))
        || boxes.any(|boxed| is_marked_box(document, boxed))
}

/// Reports whether a numbered box is optional (`[ ]* 1.1`) or marked as parallel (`1.1 (P)`).
fn is_marked_box(document: &Document<'_, '_>, boxed: &BoxedItem) -> bool {
    let text = document.text(boxed);
    let after = number(text).and_then(|number| text.split_once(number));
    after.is_some_and(|(_, rest)| {
        boxed.mark.optional || rest.trim_start_matches(['.', '*', ' ']).starts_with("(P)")
    })
}

/// Reports whether an item in italics that names numbers (`_Requirements: 1.1, 2.3_`, in any
/// language) stands below another item.
fn names_requirements(document: &Document<'_, '_>, blocks: &[Block]) -> bool {
    let mut items = blocks.iter().flat_map(items_of);
    items.any(|item| {
        parts::names_requirements(document.source, item)
            || names_requirements(document, &item.blocks)
    })
}

fn boxed(item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    if item.number.is_some() || number(item.text).is_some() {
        return scope.unless_put_off(Decision::Nested);
    }
    scope.unless_excluded(
        match numbered_boxes::is_among_numbered(scope.document, item.item) {
            true => Decision::Nested,
            false => Decision::not_run(numbers::NO_NUMBER),
        },
    )
}

fn refine(_document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    finish::number(&mut found.drafts);
    finish::hold_blocked(&mut found.drafts, BLOCKING);
}
