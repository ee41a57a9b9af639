//! Conductor's `conductor/tracks/*/plan.md`: phases with boxes `Task: …`, whose boxes are parts.
//!
//! Each phase ends with a verification by the user, which holds the next one back until the heading
//! of the phase ends with its checkpoint. Done tasks end with their commit.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::finish::OF_PERSON;
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};
use crate::tasks::phase;
use crate::tasks::section;
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: Format = Format {
    name: "conductor",
    claims,
    boxes: Boxes::Are(boxed),
    in_order: true,
    ticks_parts: true,
    finish: Some(refine),
    example: include_str!("conductor.md"),
    ..Format::NONE
};

/// Who asks for a verification, and the file that says how it is done.
const VERIFIER: &str = "Conductor";
const PROTOCOL: &str = "workflow.md";

/// What the heading of a phase ends with.
const CHECKPOINT: &str = "[checkpoint: ";

/// What the text of a task begins with.
const TASK: &str = "Task:";

fn claims(document: &Document<'_, '_>) -> Claim {
    let mut headings = document.headings.iter();
    if !headings.any(|heading| heading.is_phase) || document.boxes.is_empty() {
        return Claim::NotMine;
    }
    let mut outer = document.boxes.iter().filter(|boxed| boxed.depth == 0);
    let mut titles = document.headings.iter().map(|heading| &heading.title);
    let is_marked = outer.any(|boxed| is_verification(document.text(boxed)))
        || titles.any(|title| title.contains(CHECKPOINT));
    Claim::mine_if(
        is_marked,
        "its phases have the checkpoints or verifications of Conductor",
    )
}

fn is_verification(text: &str) -> bool {
    text.contains(VERIFIER) && (text.contains(PROTOCOL) || section::is_of_person(text))
}

fn boxed(item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    scope.unless_excluded(match phase::begins(item.text) {
        true => Decision::Nested,
        false => Decision::Task,
    })
}

fn refine(_document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    let mut open_phase = None;
    for draft in &mut found.drafts {
        if is_verification(&draft.title) {
            let phase = draft.section.as_deref();
            let is_checked = phase.is_some_and(|title| title.contains(CHECKPOINT));
            match is_checked && open_phase != Some(draft.phase) {
                true => draft.status = TaskStatus::Done,
                false => draft.hold(TaskStatus::Blocked, OF_PERSON),
            }
        } else if draft.status.runs() {
            open_phase = Some(draft.phase);
        }
        if let Some(title) = draft.title.strip_prefix(TASK) {
            draft.title = title.trim_start().to_owned();
        }
    }
}
