//! GitHub's spec-kit: `specs/*/tasks.md`, by its template `tasks-template.md`.
//!
//! Each box that begins with `T` and three digits is a task; `[P]` lets it run beside its
//! neighbours, and phases follow each other. Everything else is told.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::finish;
use crate::formats::format::{Claim, Decision, Format, ListItem, Scope};

pub(crate) const FORMAT: Format = Format {
    name: "spec-kit",
    claims,
    boxed: Some(boxed),
    finish: Some(refine),
    example: include_str!("spec_kit.md"),
    ..Format::NONE
};

/// The key of its front matter.
const KEYS: &[&str] = &["description"];

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
    match most && is_marked {
        true => Claim::Mine("its boxes have the numbers and labels of spec-kit (T001 [P] [US1])"),
        false => Claim::NotMine,
    }
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

fn refine(document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    finish::tick_parts(document, &mut found.drafts);
    found.keys = KEYS;
}
