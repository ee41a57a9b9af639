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
use crate::parse::Plan;
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
    let of_landed = plan
        .marks
        .iter()
        .filter(|(id, _)| landed.contains(id))
        .flat_map(|(_, marks)| marks);
    let over = groups_over(&plan, &landed);
    let mut marks: Vec<&Mark> = of_landed
        .chain(over)
        .filter(|mark| !mark.is_set(source))
        .collect();
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

/// Returns the boxes of the groups that landing completes: each task of theirs has landed, or needs
/// not.
fn groups_over<'p>(
    plan: &'p Plan,
    landed: &'p BTreeSet<&TaskId>,
) -> impl Iterator<Item = &'p Mark> {
    let over: BTreeSet<&TaskId> = plan
        .tasks
        .iter()
        .filter(|task| is_over(task))
        .map(|task| &task.id)
        .collect();
    let is_complete = move |group: &&GroupMark| {
        group.tasks.iter().any(|task| landed.contains(task))
            && group
                .tasks
                .iter()
                .all(|task| landed.contains(task) || over.contains(task))
    };
    plan.groups
        .iter()
        .filter(is_complete)
        .map(|group| &group.mark)
}

fn is_over(task: &Task) -> bool {
    !task.status.runs() && task.status != TaskStatus::Blocked || task.optional
}
