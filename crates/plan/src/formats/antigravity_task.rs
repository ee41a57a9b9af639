//! Antigravity's list of tasks: `task.md`.
//!
//! The boxes at the ends of its tree are the tasks, one after the other; a box above others groups
//! them, unless it alone has an id.

use crate::fields::identify;
use crate::formats::document::{BoxedItem, Document};
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};
use orchestrate_core::text::parts::Parts;

pub(crate) const FORMAT: Format = Format {
    name: "antigravity-task",
    claims,
    boxes: Boxes::Are(boxed),
    in_order: true,
    boxes_are_all: true,
    example: include_str!("antigravity_task.md"),
    ..Format::NONE
};

/// How the comment with the id of a box begins.
const ID: &str = "<!-- id:";

/// The mark of a box that is begun.
const BEGUN: &str = "/";

fn claims(document: &Document<'_, '_>) -> Claim {
    let boxes = &document.boxes;
    if boxes.iter().any(|own| document.text(own).contains(ID)) {
        return Claim::Mine("its boxes end with ids in comments (<!-- id: 0 -->)");
    }
    if boxes.iter().any(|own| is_in_code(document, own)) {
        return Claim::Mine("its boxes stand between backticks");
    }
    let is_nested = boxes.iter().any(|own| own.depth > 0);
    let is_begun = boxes
        .iter()
        .any(|own| document.source.slice(own.at..own.at + 1) == BEGUN);
    let with_ids = boxes
        .iter()
        .filter(|own| identify::of_item(document.text(own)).is_some());
    Claim::weakly_if(
        is_nested && is_begun && with_ids.count() * 2 < boxes.len(),
        "its boxes are nested, and `[/]` marks those that are begun",
    )
}

fn is_in_code(document: &Document<'_, '_>, own: &BoxedItem) -> bool {
    document.source.slice(own.at.saturating_sub(2)..own.at) == "`["
}

fn boxed(item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    match !item.is_above_boxes || is_alone_with_id(item, scope) {
        true => Decision::Task,
        false => Decision::Within,
    }
}

/// Reports whether a box has an id, and none of those below it.
fn is_alone_with_id(item: &ListItem<'_>, scope: &Scope<'_>) -> bool {
    let whole = scope.document.source.slice(item.item.range.clone());
    let own = whole.lines().next().map_or("", |line| line);
    own.contains(ID) && !whole.tail(own.len()).contains(ID)
}
