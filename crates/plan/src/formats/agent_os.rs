//! Task lists of Agent OS, version 2: headings `Task Group N` above boxes `N.0` with parts `N.1`.
//!
//! A group is one task, with all its boxes, and done once its box `N.0` is; its dependencies name
//! other groups.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::drafting::OPEN_STEP_OF_DONE;
use crate::formats::finish;
use crate::formats::format::{Boxes, Claim, Format};
use crate::formats::numbered_boxes;
use crate::formats::numbers::{counted, number};
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: Format = Format {
    name: "agent-os",
    claims,
    is_task: is_group,
    boxes: Boxes::NotRun("a box outside of the groups of tasks"),
    finish: Some(refine),
    example: include_str!("agent_os.md"),
    ..Format::NONE
};

fn claims(document: &Document<'_, '_>) -> Claim {
    Claim::mine_if(
        has_groups(document),
        "its headings are groups of tasks above boxes `N.0`",
    )
}

/// Reports whether a heading with a word and the number `N` stands right above a box `N.0`.
pub(crate) fn has_groups(document: &Document<'_, '_>) -> bool {
    document.headings.iter().any(|heading| {
        let first = document.first_box_below(heading);
        let whole = first.and_then(|boxed| number(document.text(boxed))?.strip_suffix(".0"));
        whole.is_some() && counted(&heading.title).map(|counted| counted.number) == whole
    })
}

fn is_group(document: &Document<'_, '_>, heading: &Heading) -> bool {
    counted(&heading.title)
        .is_some_and(|group| numbered_boxes::begins_with_part(document, heading, group.number))
}

fn refine(document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    for draft in &mut found.drafts {
        let headings = &document.headings;
        let at = headings.binary_search_by_key(&draft.at, |it| it.range.start);
        let heading = at.ok().and_then(|at| headings.get(at));
        let first = heading.and_then(|heading| document.first_box_below(heading));
        if first.is_some_and(|own| own.mark.status == TaskStatus::Done) {
            draft.hold(TaskStatus::Done, OPEN_STEP_OF_DONE);
        }
        finish::count(draft);
    }
}
