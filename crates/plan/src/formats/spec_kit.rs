//! GitHub's spec-kit: `specs/*/tasks.md`, by its template `tasks-template.md`.
//!
//! Each box that begins with `T` and three digits is a task; `[P]` lets it run beside its
//! neighbours, and phases follow each other. Everything else is told.

use crate::formats::document::Document;
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};

pub(crate) const FORMAT: Format = Format {
    name: "spec-kit",
    claims,
    boxes: Boxes::Are(boxed),
    keys: &["description"],
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
    let most = of_format.count() * 2 > document.boxes.len();
    Claim::mine_if(
        most && is_marked,
        "its boxes have the numbers and labels of spec-kit (T001 [P] [US1])",
    )
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
