//! GitHub's spec-kit: `specs/*/tasks.md`, by its template `tasks-template.md`.
//!
//! Each box that begins with `T` and three digits is a task; `[P]` lets it run beside its
//! neighbours, and phases follow each other. Everything else is told.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::finish;
use crate::formats::format::{Claim, Decision, Format, Node, Scope};

pub(crate) const FORMAT: Format = Format {
    name: "spec-kit",
    claims,
    decide,
    finish: Some(refine),
    dash_is_progress: false,
    example: include_str!("spec_kit.md"),
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

fn decide(node: &Node<'_>, scope: &Scope<'_>) -> Decision {
    match node {
        Node::Heading(_) => Decision::Within,
        Node::Item(item) if item.mark.is_some() && has_number(item.text) => match scope.put_off() {
            Some(open) => Decision::not_run(open.reason()),
            None => Decision::Task,
        },
        Node::Item(item) if item.mark.is_some() => {
            Decision::not_run("a box without the number of a task")
        }
        Node::Item(item) if item.is_above_boxes => Decision::Within,
        Node::Item(_) | Node::Table => Decision::Told,
    }
}

fn refine(document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    finish::tick_parts(document, &mut found.drafts);
    found.keys = KEYS;
}
