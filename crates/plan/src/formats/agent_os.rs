//! Task lists of Agent OS, version 2: headings `Task Group N` above boxes `N.0` with parts `N.1`.
//!
//! A group is one task, with all its boxes, and done once its box `N.0` is; its dependencies name
//! other groups.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{BoxedItem, Document, Heading};
use crate::formats::drafting::OPEN_STEP_OF_DONE;
use crate::formats::finish;
use crate::formats::format::{Boxes, Claim, Format};
use crate::formats::numbered_boxes;
use crate::formats::numbers::{self, counted, number};
use crate::lines::text;
use crate::tasks::draft::Draft;
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

/// The words for a group in the template.
const TASK_GROUP: &[&str] = &["Task", "Group"];

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

fn refine(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    for draft in &mut found.drafts {
        let heading = document.heading_at(draft.at);
        if let Some(heading) = heading.filter(|_| draft.status.runs()) {
            for step in steps_left(document, heading) {
                let place = step.at..step.text.end;
                found
                    .lines
                    .not_run(document.source, place, OPEN_STEP_OF_DONE);
                findings.skip(step.at, OPEN_STEP_OF_DONE);
                draft.status = TaskStatus::Done;
            }
        }
        name(draft);
    }
}

/// Returns the open boxes of a group whose own box, `N.0`, is ticked; none if another box than its
/// parts is open as well.
fn steps_left<'d>(document: &'d Document<'_, '_>, heading: &Heading) -> Vec<&'d BoxedItem> {
    let boxes = document.boxes_below(heading);
    let Some(group) = boxes
        .first()
        .filter(|own| own.mark.status == TaskStatus::Done)
    else {
        return Vec::new();
    };
    let number = number(document.text(group)).and_then(|own| own.strip_suffix(".0"));
    let Some(number) = number else {
        return Vec::new();
    };
    let left: Vec<&BoxedItem> = boxes.iter().filter(|own| own.mark.status.runs()).collect();
    let are_parts = left.iter().all(|own| {
        let own_number = numbers::number(document.text(own));
        own.depth > group.depth || own_number.is_some_and(|own| numbers::is_below(own, number))
    });
    match are_parts {
        true => left,
        false => Vec::new(),
    }
}

/// Gives a group its number, by which dependencies name it (`Task Groups 1-3`), whatever words they
/// have for a group.
fn name(draft: &mut Draft) {
    let Some(words) = counted(&draft.title).map(|group| group.words.to_owned()) else {
        return;
    };
    for list in &mut draft.attributes.depends {
        let several = format!("{words}s");
        let text = list.text.replace(&several, "").replace(&words, "");
        let mut others: Vec<&str> = text.split(' ').collect();
        others.retain(|word| !means_group(word, &words));
        list.text = others.join(" ");
    }
    finish::count(draft);
}

/// Reports whether a word, also in the plural, is one of those for a group.
fn means_group(word: &str, words: &str) -> bool {
    let word = word.trim_end_matches(['s', 'S']);
    let mut known = words.split(' ').chain(TASK_GROUP.iter().copied());
    known.any(|own| text::is_same_word(own, word))
}
