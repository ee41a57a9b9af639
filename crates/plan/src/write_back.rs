//! Marks landed tasks as done in the text of a plan, changing nothing else.

use std::collections::BTreeSet;

use crate::citations::{Citation, LineRole};
use crate::fields::names::KnownNames;
use crate::formats::document::Document;
use crate::front_matter;
use crate::lines::outline;
use crate::lines::source::Source;
use crate::mark::{GroupMark, Mark};
use crate::parse;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::{Task, TaskStatus};
use orchestrate_core::text::parts;

/// Returns the source with the landed tasks marked as done, by a ticked box or by the value of a
/// field, and with them the groups of which nothing is left; every other byte is unchanged.
///
/// Tasks without a mark (headings without a box of their own or below them, records without a
/// status) and those that are marked already are left unchanged.
pub fn write_boxes(source: &str, landed: &[TaskId], known: &KnownNames) -> String {
    let (plan, _) = parse::read(source, known);
    let landed: BTreeSet<&TaskId> = landed.iter().collect();
    let mut over = landed.clone();
    for task in plan.tasks.iter().filter(|task| is_over(task)) {
        over.insert(&task.id);
    }
    let mut marks: Vec<&Mark> = Vec::new();
    for (id, own) in &plan.marks {
        if landed.contains(id) {
            marks.extend(own);
        }
    }
    for GroupMark { mark, tasks } in &plan.groups {
        let has_landed = tasks.iter().any(|task| landed.contains(task));
        if has_landed && tasks.iter().all(|task| over.contains(task)) {
            marks.push(mark);
        }
    }
    marks.retain(|mark| !mark.is_set(source));
    marks.sort_unstable_by_key(|mark| mark.range.start);
    let ticked = marks.iter().map(|mark| (mark.range.clone(), &mark.done));
    parts::replaced(source, ticked)
}

/// Returns a document with its open boxes ticked whose lines are cited for tasks that have all
/// landed; every other byte is unchanged.
pub(crate) fn write_cited(document: &str, citations: &[Citation], landed: &[TaskId]) -> String {
    let source = Source::new(document);
    if outline::too_deep(&source).is_some() {
        return document.to_owned();
    }
    let start = front_matter::split(&source).map_or(0, |(_, body)| body);
    let mut marks = Vec::new();
    for boxed in Document::read(&source, start).boxes {
        let line = source.line_of(boxed.text.start);
        let cited = citations
            .iter()
            .find(|cited| (cited.from..=cited.to).contains(&line));
        let has_landed = match cited.map(|cited| &cited.role) {
            Some(LineRole::Task { tasks }) => tasks.iter().all(|task| landed.contains(task)),
            _ => false,
        };
        let before = source.slice(0..boxed.text.start);
        if has_landed
            && boxed.mark.status.runs()
            && let Some((open, close)) = before.rfind('[').zip(before.rfind(']'))
        {
            marks.push((open + 1..close, "x"));
        }
    }
    parts::replaced(document, marks)
}

/// Reports whether a group is complete without a task that has not landed.
fn is_over(task: &Task) -> bool {
    !task.status.runs() && task.status != TaskStatus::Blocked || task.optional
}
