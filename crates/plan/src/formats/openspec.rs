//! OpenSpec's `openspec/changes/*/tasks.md`: headings `N. …` above boxes `N.M …`.
//!
//! Each box that is in no other one is a task, and those within it are its parts. The groups are in
//! the order of their dependencies.

use crate::formats::agent_os_v1;
use crate::formats::document::{BoxedItem, Document};
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};
use crate::formats::kiro;
use crate::formats::numbered_boxes;
use crate::formats::numbers::number;
use crate::tasks::heading;
use crate::tasks::section::Kind;

pub(crate) const FORMAT: Format = Format {
    name: "openspec",
    claims,
    boxes: Boxes::Are(boxed),
    ticks_parts: true,
    example: include_str!("openspec.md"),
    ..Format::NONE
};

fn claims(document: &Document<'_, '_>) -> Claim {
    let outer = document.boxes.iter().filter(|boxed| boxed.depth == 0);
    let (numbered, mut others): (Vec<&BoxedItem>, Vec<&BoxedItem>) =
        outer.partition(|boxed| numbered_boxes::is_below_heading(document, boxed));
    if numbered.is_empty() {
        return Claim::NotMine;
    }
    others.retain(|boxed| document.is_below(boxed, |heading| is_group(&heading.title)));
    let is_shaped = numbered.len() >= others.len();
    Claim::mine_if(
        is_shaped && !agent_os_v1::is_titled(document) && !kiro::is_marked(document),
        "its boxes are numbered under numbered headings (`## 2.`, `2.1`)",
    )
}

/// Reports whether a heading is that of a group: `2. Login`.
fn is_group(title: &str) -> bool {
    number(heading::after_mark(title)).is_some()
}

fn boxed(_item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    // A group is work, also one called "Validation".
    let excluded = scope.excluded();
    match excluded.filter(|open| open.kind != Kind::Checks || !is_group(&open.title)) {
        Some(open) => Decision::not_run(open.reason()),
        None => Decision::Task,
    }
}
