//! Task lists of Agent OS, version 1: boxes `N.` with parts `N.M`, or headings `N.` above them.
//!
//! A task is carried out with all its parts, unlike in Kiro's lists, which look the same. Only the
//! title, or the quote below it, tells the two.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::finish::{self, BLOCKED};
use crate::formats::format::{Claim, Decision, Format, Node, Scope};
use crate::formats::numbers::{self, number};
use crate::lines::outline::Block;
use crate::tasks::heading;

pub(crate) const FORMAT: Format = Format {
    name: "agent-os-v1",
    claims,
    decide,
    finish: Some(refine),
    dash_is_progress: false,
    example: include_str!("agent_os_v1.md"),
};

/// The title of such a list.
const TITLE: &str = "Spec Tasks";

/// What the quote below the title says.
const QUOTED: &[&str] = &["Spec:", "Created:"];

/// The line below a task that cannot go on.
const BLOCKING: &str = "⚠️ Blocking issue:";

fn claims(document: &Document<'_, '_>) -> Claim {
    if !is_titled(document) {
        return Claim::NotMine;
    }
    let (mut tasks, mut beside) = (0, 0);
    for boxed in document.boxes.iter().filter(|boxed| boxed.depth == 0) {
        match number(document.text(boxed)) {
            Some(own) if !own.contains('.') => tasks += 1,
            Some(_) if numbers::is_below_heading(document, boxed) => tasks += 1,
            Some(_) => beside += 1,
            None => {}
        }
    }
    match tasks > 0 && beside == 0 {
        true => Claim::Mine("it has the title of Agent OS and numbered tasks"),
        false => Claim::NotMine,
    }
}

/// Reports whether a document has the title of such a list, or the quote that names its spec.
pub(crate) fn is_titled(document: &Document<'_, '_>) -> bool {
    document.headings.first().is_some_and(|first| {
        let mut blocks = document.own(first).iter();
        first.is(TITLE) || blocks.any(|block| names_spec(document, block))
    })
}

fn names_spec(document: &Document<'_, '_>, block: &Block) -> bool {
    let Some(text) = document.quote(block) else {
        return false;
    };
    QUOTED.iter().all(|key| text.contains(key))
}

fn is_task(document: &Document<'_, '_>, heading: &Heading) -> bool {
    number(heading::after_mark(&heading.title))
        .is_some_and(|own| numbers::begins_with_part(document, heading, own))
}

fn decide(node: &Node<'_>, scope: &Scope<'_>) -> Decision {
    match node {
        Node::Heading(heading) if is_task(scope.document, heading) => Decision::Task,
        Node::Heading(_) => Decision::Within,
        Node::Item(item) if item.mark.is_some() => match scope.excluded() {
            Some(open) => Decision::not_run(open.reason()),
            None if numbers::is_among_numbered(scope.document, item.item) => Decision::Task,
            None => Decision::not_run("a box without a number, in a section without tasks"),
        },
        Node::Item(item) if item.is_above_boxes => Decision::Within,
        Node::Item(_) | Node::Table => Decision::Told,
    }
}

fn refine(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    finish::number(&mut found.drafts);
    finish::tick_parts(document, &mut found.drafts);
    for draft in &mut found.drafts {
        if draft.details.iter().any(|lines| lines.contains(BLOCKING)) {
            finish::hold(draft, BLOCKED, findings);
        }
    }
}
