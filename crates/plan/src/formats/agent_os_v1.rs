//! Task lists of Agent OS, version 1: boxes `N.` with parts `N.M`, or headings `N.` above them.
//!
//! A task is carried out with all its parts, unlike in Kiro's lists, which look the same. Only the
//! title, or the quote below it, tells the two.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::finish;
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};
use crate::formats::numbered_boxes;
use crate::formats::numbers::{self, number};
use crate::lines::outline::Block;
use crate::tasks::heading;

pub(crate) const FORMAT: Format = Format {
    name: "agent-os-v1",
    claims,
    is_task,
    boxes: Boxes::Are(boxed),
    ticks_parts: true,
    finish: Some(refine),
    example: include_str!("agent_os_v1.md"),
    ..Format::NONE
};

/// The title of such a list.
const TITLE: &str = "Spec Tasks";

/// What the quote below the title says.
const QUOTED: &[&str] = &["Spec:", "Created:"];

/// The line below a task that cannot go on.
const BLOCKING: &str = "⚠️ Blocking issue:";

fn claims(document: &Document<'_, '_>) -> Claim {
    if !is_titled(document) {
        return Claim::NotMine;
    }
    let (mut tasks, mut beside) = (0, 0);
    for boxed in document.boxes.iter().filter(|boxed| boxed.depth == 0) {
        match number(document.text(boxed)) {
            Some(own) if !own.contains('.') => tasks += 1,
            Some(_) if numbered_boxes::is_below_heading(document, boxed) => tasks += 1,
            Some(_) => beside += 1,
            None => {}
        }
    }
    Claim::mine_if(
        tasks > 0 && beside == 0,
        "it has the title of Agent OS and numbered tasks",
    )
}

/// Reports whether a document has the title of such a list, or the quote that names its spec.
pub(crate) fn is_titled(document: &Document<'_, '_>) -> bool {
    document.headings.first().is_some_and(|first| {
        let mut blocks = document.own(first).iter();
        first.is(TITLE) || blocks.any(|block| names_spec(document, block))
    })
}

fn names_spec(document: &Document<'_, '_>, block: &Block) -> bool {
    let names = |text: &str| QUOTED.iter().all(|key| text.contains(key));
    document.quote(block).is_some_and(names)
}

fn is_task(document: &Document<'_, '_>, heading: &Heading) -> bool {
    number(heading::after_mark(&heading.title))
        .is_some_and(|own| numbered_boxes::begins_with_part(document, heading, own))
}

fn boxed(item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    let is_task = numbered_boxes::is_among_numbered(scope.document, item.item);
    scope.unless_excluded(Decision::task_if(is_task, numbers::NO_NUMBER))
}

fn refine(_document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    finish::number(&mut found.drafts);
    finish::hold_blocked(&mut found.drafts, BLOCKING);
}
