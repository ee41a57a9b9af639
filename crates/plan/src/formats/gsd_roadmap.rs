//! The roadmap of GSD (get-shit-done): `.planning/ROADMAP.md`.
//!
//! It names each phase several times: in a list with boxes, as a heading with its goal, and in a
//! table; or once, as an item of a list above its plans. A phase is one entity: its plans (`02-01`)
//! are the tasks if it has any, else it is a task itself. A phase whose box is ticked is done:
//! boxes of its plans are seldom ticked.

use std::collections::BTreeSet;

use crate::fields::attributes::Located;
use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{BoxedItem, Document, Heading};
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};
use crate::formats::numbers::named;
use crate::lines::outline::Block;
use crate::lines::text::all_digits;
use crate::mark::Mark;
use crate::tasks::draft::{Draft, Group, items_of};
use crate::tasks::phase;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

pub(crate) const FORMAT: Format = Format {
    name: "gsd-roadmap",
    claims,
    is_task,
    boxes: Boxes::Are(boxed),
    plain: is_plain_phase,
    finish: Some(finish),
    example: include_str!("gsd_roadmap.md"),
    ..Format::NONE
};

/// What stands in place of a plan that is not written yet.
const TO_BE_PLANNED: &str = "TBD";

/// Why the box of a phase is no task, though it is all that is open of the phase.
const LEFT_OPEN: &str = "the plans of this phase are done, but its own box is open";

/// The minimum number of phases that tell a roadmap without plans.
const LEAST: usize = 2;

/// The maximum number of digits of a phase, and of a plan: a year has more.
const DIGITS: usize = 3;

/// A plan of a phase, as its box names it.
struct Plan<'a> {
    id: &'a str,
    /// The number of its phase.
    phase: &'a str,
    title: &'a str,
}

fn claims(document: &Document<'_, '_>) -> Claim {
    let boxes = document.boxes_named();
    let mut phases = Vec::new();
    for name in boxes.keys() {
        let at = document.headings_named().get(name);
        phases.extend(at.and_then(|at| document.headings.get(*at)));
    }
    if !phases.is_empty() && document.boxes.iter().any(|own| is_plan(document, own)) {
        return Claim::Mine("its phases are boxes and headings, with numbered plans (01-02)");
    }
    if document.boxes.iter().any(|own| is_listed(document, own)) {
        return Claim::Mine("its phases are items of a list, with numbered plans (01-02)");
    }
    if phases.len() >= LEAST && phases.iter().all(|phase| has_fields(document, phase)) {
        return Claim::Weakly("its phases are boxes, and headings with fields");
    }
    Claim::NotMine
}

/// Returns the number in `Phase 2`.
fn number(name: &str) -> &str {
    name.trim_start_matches(|c: char| !c.is_ascii_digit())
}

fn is_same(number: &str, other: &str) -> bool {
    number.trim_start_matches('0') == other.trim_start_matches('0')
}

/// Reports whether a box is a plan of the phase that it stands below.
fn is_plan(document: &Document<'_, '_>, own: &BoxedItem) -> bool {
    plan(document.text(own))
        .is_some_and(|plan| document.is_below(own, |heading| is_phase(&heading.title, plan.phase)))
}

/// Reports whether a box is a plan of the phase whose item it stands below.
fn is_listed(document: &Document<'_, '_>, own: &BoxedItem) -> bool {
    plan(document.text(own)).is_some_and(|plan| {
        let phase = phase_around(document, own.at);
        phase.is_some_and(|phase| is_same(number(phase), plan.phase))
    })
}

/// Returns the name of the phase (`Phase 2`) that is the outermost item around a place.
fn phase_around<'a>(document: &Document<'_, 'a>, at: usize) -> Option<&'a str> {
    let before = document
        .blocks
        .partition_point(|block| block.range().start < at);
    let items = items_of(document.blocks.part(0..before).last()?);
    let before = items.partition_point(|item| item.range.start < at);
    let item = items
        .part(0..before)
        .last()
        .filter(|item| at < item.range.end)?;
    named(document.source.slice(item.text.clone()))
}

/// Reports whether an item is a phase without plans, beside one that has some.
fn is_plain_phase(item: &ListItem<'_>, scope: &Scope<'_>) -> bool {
    let is_detailed =
        named(item.text).is_some_and(|name| scope.document.headings_named().contains_key(name));
    item.is_among_parents && phase::begins(item.text) && !is_detailed
}

/// Reports whether a heading is that of the phase with this number.
fn is_phase(title: &str, phase: &str) -> bool {
    named(title).is_some_and(|name| is_same(number(name), phase))
}

/// Returns the plan that a text begins with: `02-01: Title`, `02-01-PLAN.md — Title`.
fn plan(text: &str) -> Option<Plan<'_>> {
    let body = text.trim_start_matches(['`', '*', '~']);
    let (phase, rest) = body.split_once('-')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (own, rest) = rest.split_at(digits);
    if !phase.split('.').all(is_number) || !is_number(own) {
        return None;
    }
    let after = rest.strip_prefix("-PLAN").unwrap_or(rest);
    let after = after.strip_prefix(".md").unwrap_or(after);
    if after.starts_with(|c: char| c.is_alphanumeric() || c == '-') {
        return None;
    }
    let after = after.strip_prefix('`').unwrap_or(after);
    let title = after.trim_start_matches([' ', ':', '*', '-', '–', '—']);
    Some(Plan {
        id: body.head(phase.len() + 1 + digits),
        phase,
        title,
    })
}

/// Reports whether a paragraph right below a heading begins with an emphasised key.
fn has_fields(document: &Document<'_, '_>, heading: &Heading) -> bool {
    document.own(heading).iter().any(|block| match block {
        Block::Paragraph(range) => {
            let text = document.source.slice(range.clone());
            text.starts_with("**") && (text.contains("**:") || text.contains(":**"))
        }
        _ => false,
    })
}

/// Reports whether a heading is that of a phase of the list, without plans.
fn is_task(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let is_listed = named(&heading.title).is_some_and(|name| {
        let first = document.headings_named().get(name);
        let is_first = first.and_then(|at| document.headings.get(*at));
        is_first.is_some_and(|first| first.at == heading.at)
            && document.boxes_named().contains_key(name)
    });
    is_listed
        && !document
            .boxes_below(heading)
            .iter()
            .any(|own| is_plan(document, own) && is_planned(document.text(own)))
}

fn is_number(word: &str) -> bool {
    word.len() <= DIGITS && all_digits(word)
}

/// Reports whether the text of a plan's box says what it is.
fn is_planned(text: &str) -> bool {
    let title = plan(text).map_or("", |plan| plan.title);
    !title.is_empty() && !title.starts_with('[') && !title.starts_with(TO_BE_PLANNED)
}

fn boxed(item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    let around = phase_around(scope.document, item.item.range.start);
    if let Some(plan) = plan(item.text) {
        let is_below = scope
            .sections
            .iter()
            .any(|open| is_phase(&open.title, plan.phase))
            || around.is_some_and(|name| is_same(number(name), plan.phase));
        return match is_below && is_planned(item.text) {
            true => Decision::Task,
            false => Decision::not_run("it says no plan of the phase above it"),
        };
    }
    match named(item.text) {
        Some(name) if scope.document.headings_named().contains_key(name) => Decision::Told,
        Some(_) if holds_plans(scope.document, item) => Decision::Within,
        Some(_) => Decision::Task,
        None if around.is_some() => Decision::Task,
        None => Decision::not_run("it is neither a phase nor a numbered plan of one"),
    }
}

/// Reports whether the first box below an item is a plan of the phase that the item is.
fn holds_plans(document: &Document<'_, '_>, item: &ListItem<'_>) -> bool {
    let place = &item.item.range;
    let first = document.boxes.partition_point(|own| own.at < place.start) + 1;
    let below = document.boxes.get(first).filter(|own| own.at < place.end);
    below.is_some_and(|own| is_listed(document, own))
}

fn finish(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    let mut phases = BTreeSet::new();
    for draft in &mut found.drafts {
        name(draft, &mut phases);
    }
    for (name, at) in document.boxes_named() {
        let heading = document.headings_named().get(name);
        let heading = heading.and_then(|at| document.headings.get(*at));
        if let (Some(heading), Some(own)) = (heading, document.boxes.get(*at)) {
            end_phase(document, heading, own, found, findings);
        }
    }
}

/// Gives a plan its number as its id, and a phase, unless there was one like it before, its letter
/// and number.
fn name(draft: &mut Draft, phases: &mut BTreeSet<String>) {
    let Some(plan) = plan(&draft.title) else {
        let phase = phase::of_heading(&draft.title).filter(|_| phase::begins(&draft.title));
        let label = phase.and_then(|phase| phase.label);
        let free = label.filter(|label| phases.insert(label.clone()) && draft.id.is_none());
        if let Some(text) = free {
            draft.id = Some(Located::new(text, draft.at));
            draft.counts = true;
        }
        return;
    };
    draft.id = Some(Located::new(plan.id, draft.at));
    draft.counts = true;
    let title = plan.title.to_owned();
    if !title.is_empty() {
        draft.title = title;
    }
}

/// Lets the box of a phase in the list say its status, and has it ticked with the phase.
fn end_phase(
    document: &Document<'_, '_>,
    heading: &Heading,
    own: &BoxedItem,
    found: &mut Collected,
    findings: &mut Findings,
) {
    let section = document.section(heading);
    let leaves = found.drafts_in(&section);
    let mark = Mark::of_box(own.at);
    let plans = found.drafts.part(leaves.clone());
    let is_left = !plans.is_empty() && plans.iter().all(|plan| plan.status == TaskStatus::Done);
    if own.mark.status.runs() && is_left && plans.iter().all(|plan| plan.at > section.start) {
        let end = own.at + document.text(own).len();
        found.lines.not_run(document.source, own.at..end, LEFT_OPEN);
        findings.skip(own.at, LEFT_OPEN);
    }
    for draft in found.drafts.iter_mut().take(leaves.end).skip(leaves.start) {
        if draft.at == section.start {
            draft.status = own.mark.status;
            draft.marks.insert(0, mark);
            return;
        }
        if !own.mark.status.runs() {
            draft.hold(own.mark.status, "the box of its phase says that it is over");
        }
    }
    found.phases.push(Group {
        id: String::new(),
        mark: Some(mark),
        leaves,
    });
}
