//! What a reading has left over that looks like work: headings of tasks and of parts of a series
//! without a task, lists below a heading such as "To do", and lines that begin with `Task N:`.
//!
//! It is told, since a format knows it for no task, but a check lists it, so that no part of a plan
//! is left out silently.

use std::collections::BTreeSet;
use std::ops::Range;

use orchestrate_core::task::TaskStatus;

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::generic;
use crate::formats::lines::Role;
use crate::formats::numbered_lists;
use crate::formats::task_headings;
use crate::lines::outline::Block;
use crate::lines::source::Source;
use crate::tasks::done;
use crate::tasks::draft::items_of;
use crate::tasks::heading;
use crate::tasks::section;

const WITHOUT_TASK: &str = "it looks like work, but no task was read there";

/// Records what looks like work beside the tasks of a document.
pub(crate) fn record(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    if found.drafts.is_empty() {
        return;
    }
    let mut starts: Vec<usize> = found.drafts.iter().map(|draft| draft.at).collect();
    starts.sort_unstable();
    let rows = rows(document, found);
    let mut left = Left {
        source: document.source,
        found,
        findings,
    };
    let has_tasks = |it: &Heading| holds(&starts, &document.section(it));
    let left_out = task_headings::left_out(document, has_tasks);
    for heading in &document.headings {
        let is_work = heading.is_work() && !document.is_in(heading.parent, |it| !it.is_work());
        if !is_work || holds(&starts, &document.section(heading)) {
            continue;
        }
        let is_beside_tasks = left_out.contains(&heading.at);
        if heading.task().is_some() || is_beside_tasks || is_beside_task(document, heading, &starts)
        {
            left.add(Role::Structure, heading.range.start);
        }
        if is_beside_tasks || section::lists_bullets(&heading.title) {
            for item in document.own(heading).iter().flat_map(items_of) {
                left.add(Role::Told, item.range.start);
            }
        }
    }
    if document.boxes.is_empty() && !tasks_are_headings(document, &starts) {
        for list in numbered_lists::find(document) {
            for item in list.items {
                left.add(Role::Told, item.range.start);
            }
        }
    }
    for at in numbered_lists::lines_in_text(document) {
        left.add(Role::Told, at);
    }
    for block in &document.blocks {
        if let Block::Paragraph(range) = block {
            let lines = document.source.lines(range.clone());
            for (at, _) in lines.filter(|(_, line)| names_task(line)) {
                left.add(Role::Told, at);
            }
        }
    }
    for at in rows {
        left.add(Role::Told, at);
    }
}

/// What is left over.
struct Left<'l, 'a> {
    source: &'l Source<'a>,
    found: &'l mut Collected,
    findings: &'l mut Findings,
}

impl Left<'_, '_> {
    /// Says of the line at an offset that it looks like work, if it has no other role than this.
    fn add(&mut self, role: Role, at: usize) {
        let lines = &mut self.found.lines;
        if lines.refuse_a(role, self.source, at, WITHOUT_TASK) {
            self.findings.skip(at, WITHOUT_TASK);
        }
    }
}

/// Returns the places of the open rows of tables of tasks, unless these only sum up the tasks.
fn rows(document: &Document<'_, '_>, found: &Collected) -> Vec<usize> {
    let source = document.source;
    let mut places = Vec::new();
    // Most documents have none.
    if document.tables().next().is_none() || generic::tables_retell(document) {
        return places;
    }
    let titles: BTreeSet<&str> = found.drafts.iter().map(|it| it.title.as_str()).collect();
    for (heading, table) in document.tables() {
        let is_work = !document.is_in(heading, |it| !it.is_work());
        if !is_work || !table.is_certain || !table.is_tracked {
            continue;
        }
        for row in &table.rows {
            let status = done::status_of_cell(source.slice(row.status.clone()));
            let is_open = status.is_none_or(TaskStatus::runs);
            if is_open && !titles.contains(source.slice(row.title.clone())) {
                places.push(row.at);
            }
        }
    }
    places
}

/// Reports whether an inner heading stands right beside one that is a task, and has something below
/// it.
fn is_beside_task(document: &Document<'_, '_>, heading: &Heading, starts: &[usize]) -> bool {
    let is_task = |it: &Heading| starts.binary_search(&it.range.start).is_ok();
    let Some(parent) = heading.parent.and_then(|at| document.headings.get(at)) else {
        return false;
    };
    let first = document.headings.partition_point(|it| it.at <= parent.at);
    let inner = document.headings.iter().skip(first);
    let mut beside = inner
        .take_while(|it| it.at < parent.end)
        .filter(|it| it.level == heading.level);
    parent.level > 1 && heading.end > heading.at + 1 && beside.any(is_task)
}

/// Reports whether a task begins with a heading.
fn tasks_are_headings(document: &Document<'_, '_>, starts: &[usize]) -> bool {
    let is_task = |it: &Heading| starts.binary_search(&it.range.start).is_ok();
    document.headings.iter().any(is_task)
}

/// Reports whether a task begins in a range.
fn holds(starts: &[usize], range: &Range<usize>) -> bool {
    let first = starts.partition_point(|start| *start < range.start);
    starts.get(first).is_some_and(|start| *start < range.end)
}

/// Reports whether a line of a paragraph begins with `Task N:`.
fn names_task(line: &str) -> bool {
    let text = line.trim_start_matches(['*', '_', ' ']);
    heading::task(text).is_some_and(|task| task.counts) && text.contains(':')
}
