//! ExecPlans, by the cookbook of Codex: a living document with a record of its progress.
//!
//! The boxes below "Progress" are the tasks, one after the other; done ones begin with the time.
//! All else, also milestones, tells how they are done, and boxes elsewhere are not run.

use crate::fields::identify;
use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::finish;
use crate::formats::format::{Claim, Decision, Format, ListItem, Node, Scope};
use crate::formats::numbers;

pub(crate) const FORMAT: Format = Format {
    name: "execplan",
    claims,
    decide,
    finish: Some(order_and_tick),
    dash_is_progress: false,
    example: include_str!("execplan.md"),
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
    let other = document.headings.iter().find(|heading| {
        numbers::is_task(&heading.title) && document.first_box_below(heading).is_some()
    });
    match other {
        Some(other) => {
            let title = &other.title;
            Claim::Contradicting(format!(
                "boxes stand below \"{title}\" and below its progress"
            ))
        }
        None => Claim::Mine("it is an ExecPlan with a record of its progress"),
    }
}

/// Reports whether the text of a box begins with a time in parentheses.
fn is_stamped(text: &str) -> bool {
    identify::date(text).is_some()
}

fn decide(node: &Node<'_>, scope: &Scope<'_>) -> Decision {
    match node {
        Node::Heading(_) => Decision::Within,
        Node::Item(item) if item.mark.is_some() => match is_progress(item, scope) {
            true => Decision::Task,
            false => Decision::not_run("a box outside of the progress of the plan"),
        },
        Node::Item(item) if item.is_above_boxes => Decision::Within,
        Node::Item(_) | Node::Table => Decision::Told,
    }
}

fn is_progress(item: &ListItem<'_>, scope: &Scope<'_>) -> bool {
    let first = scope.document.first_box_beside(item.item);
    scope.is_in(PROGRESS) || first.is_some_and(|boxed| is_stamped(scope.document.text(boxed)))
}

fn order_and_tick(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    findings.know(&["completed", "remaining"]);
    finish::keep_order(&mut found.drafts);
    finish::tick_parts(document, &mut found.drafts);
}
