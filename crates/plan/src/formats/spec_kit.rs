//! GitHub's spec-kit: `specs/*/tasks.md`, by its template `tasks-template.md`.
//!
//! Each box that begins with `T` and three digits is a task; `[P]` lets it run beside its
//! neighbours, and phases follow each other. Everything else is told.

use crate::formats::document::{Document, Heading};
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Open, Scope};
use crate::tasks::draft::items_of;
use crate::tasks::phase;

pub(crate) const FORMAT: Format = Format {
    name: "spec-kit",
    claims,
    boxes: Boxes::Are(boxed),
    plain: is_bare,
    ticks_parts: true,
    example: include_str!("spec_kit.md"),
    ..Format::NONE
};

/// The least number of digits of a task's number.
const DIGITS: usize = 3;

fn claims(document: &Document<'_, '_>) -> Claim {
    let of_format = document
        .boxes
        .iter()
        .filter(|boxed| has_number(document.text(boxed)));
    let is_marked = document.boxes.iter().any(|boxed| {
        let text = document.text(boxed);
        has_number(text) && (text.contains("[P]") || text.contains("[US"))
    });
    let bare = document
        .headings
        .iter()
        .find(|it| has_bare_tasks(document, it));
    let most = of_format.count() * 2 > document.boxes.len();
    if let Some(bare) = bare.filter(|_| most && is_marked) {
        let title = &bare.title;
        return Claim::Contradicting(format!("the tasks of \"{title}\" have no boxes"));
    }
    Claim::mine_if(
        most && is_marked,
        "its boxes have the numbers and labels of spec-kit (T001 [P] [US1])",
    )
}

/// Reports whether items with numbers, but no boxes, stand right below the heading of a phase.
fn has_bare_tasks(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let mut items = document.own(heading).iter().flat_map(items_of);
    heading.is_phase
        && !document.holds_boxes(heading)
        && items.any(|item| has_title(document.source.slice(item.text.clone())))
}

/// Reports whether an item is such a one.
fn is_bare(item: &ListItem<'_>, scope: &Scope<'_>) -> bool {
    has_title(item.text) && scope.section().is_some_and(is_phase_without_boxes)
}

fn is_phase_without_boxes(open: &Open) -> bool {
    !open.holds_boxes && phase::of_heading(&open.title).is_some()
}

/// Reports whether words or labels follow the number of a task, rather than other numbers.
fn has_title(text: &str) -> bool {
    let after = text.split_once(' ').map_or("", |(_, after)| after);
    let is_title = after.starts_with(|c: char| c.is_uppercase() || matches!(c, '[' | '`'));
    let number = text.strip_suffix(after).unwrap_or(text).trim_end();
    is_title && has_number(number) && number.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn has_number(text: &str) -> bool {
    let digits = text.strip_prefix('T').map_or(0, |rest| {
        rest.bytes().take_while(u8::is_ascii_digit).count()
    });
    digits >= DIGITS
}

fn boxed(item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    match has_number(item.text) {
        true => scope.unless_put_off(Decision::Task),
        false => Decision::not_run("a box without the number of a task"),
    }
}
