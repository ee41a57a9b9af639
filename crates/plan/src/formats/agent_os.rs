//! Task lists of Agent OS, version 2: headings `Task Group N` above boxes `N.0` with parts `N.1`.
//!
//! A group is one task, with all its boxes; its dependencies name other groups.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::finish;
use crate::formats::format::{Boxes, Claim, Format};
use crate::formats::numbers::{self, counted, number};

pub(crate) const FORMAT: Format = Format {
    name: "agent-os",
    claims,
    is_task: is_group,
    boxes: Boxes::NotRun("a box outside of the groups of tasks"),
    finish: Some(name_groups),
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
        .is_some_and(|group| numbers::begins_with_part(document, heading, group.number))
}

/// Gives the groups their numbers, by which dependencies name them (`Task Groups 1-3`).
fn name_groups(_document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    for draft in &mut found.drafts {
        let Some(words) = counted(&draft.title).map(|group| group.words.to_owned()) else {
            continue;
        };
        for list in &mut draft.attributes.depends {
            let several = format!("{words}s");
            list.text = list.text.replace(&several, "").replace(&words, "");
        }
        finish::count(draft);
    }
}
