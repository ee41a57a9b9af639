//! Cursor's plans: `.cursor/plans/*.plan.md`, whose front matter has the to-dos.
//!
//! Each to-do is a task; they go in their order. The document below them explains them: whatever it
//! looks like, it is told to all.

use crate::fields::attributes::Located;
use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::format::{Boxes, Claim, Format};
use crate::formats::yaml::{self, Line};
use crate::tasks::draft::Draft;
use orchestrate_core::ids::TaskId;

pub(crate) const FORMAT: Format = Format {
    name: "cursor",
    claims,
    boxes: Boxes::NotRun("the plan's tasks are the to-dos of its front matter"),
    keys: &[TO_DOS, "name", "overview", "isProject"],
    finish: Some(finish),
    example: include_str!("cursor.md"),
    ..Format::NONE
};

/// The key whose value is the list of to-dos.
const TO_DOS: &str = "todos";

/// What the status of a to-do is once it is done.
const DONE: &str = "completed";

fn claims(document: &Document<'_, '_>) -> Claim {
    Claim::mine_if(
        to_dos(document).iter().any(|lines| is_to_do(lines)),
        "its front matter has to-dos with `content` and `status`",
    )
}

fn is_to_do(lines: &[Line<'_>]) -> bool {
    read(lines, 0, &mut Findings::default()).is_some()
}

fn finish(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    for lines in to_dos(document) {
        let Some(draft) = read(&lines, found.drafts.len(), findings) else {
            continue;
        };
        let end = lines
            .last()
            .map_or(draft.at, |last| last.offset + last.text.len());
        found.add(document.source, draft, end);
    }
}

/// Returns the lines of each to-do.
fn to_dos<'a>(document: &Document<'_, 'a>) -> Vec<Vec<Line<'a>>> {
    if !document.has_key(TO_DOS) {
        return Vec::new();
    }
    let lines = yaml::lines(document.source, 0..document.start);
    let entries = yaml::entries(&lines);
    let list = entries.iter().find(|entry| entry.key == TO_DOS);
    list.map_or(Vec::new(), |list| yaml::items(&list.more))
}

/// Returns a to-do as a task, with the number of those before it; `None` if it says nothing.
fn read(lines: &[Line<'_>], before: usize, findings: &mut Findings) -> Option<Draft> {
    let mut draft = Draft {
        at: lines.first()?.offset,
        // In a section of its own, each goes after the one before it.
        section_index: before,
        ..Draft::default()
    };
    for entry in yaml::entries(lines) {
        match entry.key {
            "id" => {
                let id: Located = entry.word();
                draft.id = Some(id).filter(|id| TaskId::is_plain(&id.text));
            }
            "content" | "title" => draft.title = entry.text(),
            "status" => entry.set_status(&mut draft, DONE, findings),
            "dependencies" | "depends_on" => draft.attributes.depends.extend(entry.list()),
            _ => {}
        }
    }
    (!draft.title.is_empty()).then_some(draft)
}
