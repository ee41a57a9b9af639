//! ExecPlans, by the cookbook of Codex: a living document with a record of its progress.
//!
//! The boxes below "Progress" are the tasks, one after the other; done ones begin with the time.
//! All else, also the milestones that they mention, tells how they are done, and boxes elsewhere
//! are not run.

use crate::fields::identify;
use crate::formats::document::{BoxedItem, Document, Heading};
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};
use crate::formats::numbers::{self, named};
use crate::tasks::heading;

pub(crate) const FORMAT: Format = Format {
    name: "execplan",
    claims,
    boxes: Boxes::Are(boxed),
    in_order: true,
    ticks_parts: true,
    example: include_str!("execplan.md"),
    ..Format::NONE
};

/// The heading above the boxes, which people may translate; then the times tell.
const PROGRESS: &str = "Progress";

/// What such a document says of itself.
const LIVING: &str = "ExecPlan is a living document";

/// Other headings of the skeleton.
const SECTIONS: &[&str] = &[
    "Purpose / Big Picture",
    "Surprises & Discoveries",
    "Decision Log",
    "Outcomes & Retrospective",
    "Context and Orientation",
    "Plan of Work",
    "Concrete Steps",
    "Validation and Acceptance",
    "Idempotence and Recovery",
];

/// How many of them tell such a document.
const ENOUGH: usize = 3;

/// How many milestones are looked for in the progress: more than people write.
const MAX_MILESTONES: usize = 100;

/// The keys of the entries of its log, which stay in English.
const LOG: &[&str] = &["Decision:", "Rationale:"];

fn claims(document: &Document<'_, '_>) -> Claim {
    let (mut boxes, mut headings) = (document.boxes.iter(), document.headings.iter());
    let has_times = boxes.any(|boxed| is_stamped(document.text(boxed)));
    let has_progress =
        headings.any(|heading| heading.is(PROGRESS) && document.first_box_below(heading).is_some());
    if !(has_times || has_progress) {
        return Claim::NotMine;
    }
    let sections = SECTIONS.iter().filter(|title| document.has_heading(title));
    let is_known = sections.count() >= ENOUGH || document.contains(LIVING);
    let has_log = LOG.iter().all(|key| document.contains(key));
    if !(is_known || (has_times && has_log)) {
        return Claim::NotMine;
    }
    if is_known && !has_progress {
        let why = format!("its boxes stand below no heading \"{PROGRESS}\"");
        return Claim::Contradicting(why);
    }
    if let Some(other) = document
        .boxes
        .iter()
        .find(|own| is_work_beside(document, own))
    {
        let title = document.heading_of(other).map_or("", |it| &it.title);
        let why = format!("boxes stand below \"{title}\" and below its progress");
        return Claim::Contradicting(why);
    }
    match milestone_left_out(document) {
        Some(milestone) => {
            let title = &milestone.title;
            Claim::Contradicting(format!("its progress does not mention \"{title}\""))
        }
        None => Claim::Mine("it is an ExecPlan with a record of its progress"),
    }
}

/// Reports whether a box is open work, but not in the record of progress, or is a step of a task
/// that is a heading.
fn is_work_beside(document: &Document<'_, '_>, own: &BoxedItem) -> bool {
    let is_open = own.mark.status.runs() && own.depth == 0;
    let is_step = document.is_below(own, |it| numbers::is_task(&it.title));
    let is_check = document.is_below(own, |it| !it.is_work());
    is_step || (is_open && !is_check && !is_recorded(document, own))
}

/// Reports whether a box stands in the record of progress: below its heading, or beside a first box
/// with a time.
fn is_recorded(document: &Document<'_, '_>, own: &BoxedItem) -> bool {
    let first = document
        .boxes
        .partition_point(|it| it.heading < own.heading);
    let first = document.boxes.get(first);
    document.is_below(own, |it| it.is(PROGRESS))
        || first.is_some_and(|first| is_stamped(document.text(first)))
}

/// Returns the first milestone that no box of the progress mentions: all work is recorded there.
fn milestone_left_out<'d>(document: &'d Document<'_, '_>) -> Option<&'d Heading> {
    let mut recorded = Vec::new();
    for own in &document.boxes {
        if is_recorded(document, own) {
            recorded.push(document.text(own).to_lowercase());
        }
    }
    let milestones = document.headings.iter().filter(|it| it.is_phase);
    milestones
        .take(MAX_MILESTONES)
        .find(|it| !is_over(it) && !recorded.iter().any(|text| mentions(text, it)))
}

fn is_over(heading: &Heading) -> bool {
    heading::status(&heading.title).is_some_and(|status| !status.runs())
}

/// Reports whether a lowered text mentions a milestone, by its name or by its words.
fn mentions(text: &str, milestone: &Heading) -> bool {
    let title = milestone.title.to_lowercase();
    let name = named(&title).unwrap_or("");
    let after = title.split_once(name).map_or("", |(_, after)| after);
    let words = after.trim_matches(|c: char| !c.is_alphanumeric());
    [name, words]
        .iter()
        .any(|own| !own.is_empty() && text.contains(own))
}

/// Reports whether the text of a box begins with a time in parentheses.
fn is_stamped(text: &str) -> bool {
    identify::date(text).is_some()
}

fn boxed(item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    let reason = "a box outside of the progress of the plan";
    Decision::task_if(is_progress(item, scope), reason)
}

fn is_progress(item: &ListItem<'_>, scope: &Scope<'_>) -> bool {
    let first = scope.document.first_box_beside(item.item);
    scope.is_in(PROGRESS) || first.is_some_and(|boxed| is_stamped(scope.document.text(boxed)))
}
