//! What Claude writes in its mode for plans: `.claude/plans/*.md`.
//!
//! It is meant for one session, so the whole of it is one goal. One that has headings such as
//! `Step 1` or `1.` is read by these, or asked about.

use crate::formats::document::Document;
use crate::formats::format::{Claim, Format};
use crate::formats::task_headings;

pub(crate) const FORMAT: Format = Format {
    name: "claude-plan",
    claims,
    example: include_str!("claude_plan.md"),
    ..Format::NONE
};

/// The title of its first section.
const CONTEXT: &str = "context";

/// The titles of which at least one stands below.
const LATER: &[&str] = &[
    "verification",
    "critical files",
    "files to modify",
    "key files",
];

fn claims(document: &Document<'_, '_>) -> Claim {
    let (mut has_context, mut has_later, mut has_task) = (false, false, false);
    for own in document.headings.iter().filter(|own| own.level > 1) {
        let title = own.title.to_lowercase();
        has_context |= title.starts_with(CONTEXT);
        has_later |= LATER.iter().any(|words| title.starts_with(words));
        has_task |= own.task().is_some();
    }
    let may_be_tasks =
        has_task || task_headings::has_series(document) || !document.boxes.is_empty();
    Claim::weakly_if(
        has_context && has_later && !may_be_tasks,
        "it has a context and a verification, and nothing between is numbered",
    )
}
