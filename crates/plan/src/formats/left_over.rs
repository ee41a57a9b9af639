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
use crate::formats::numbers::named;
use crate::formats::task_headings;
use crate::lines::outline::Block;
use crate::lines::source::Source;
use crate::tasks::done;
use crate::tasks::draft::items_of;
use crate::tasks::heading;
use crate::tasks::phase;
use crate::tasks::section::{self, Kind};

const WITHOUT_TASK: &str = "it looks like work, but no task was read there";

/// Records what looks like work beside the tasks of a document; a format knows its phases itself.
pub(crate) fn record(
    document: &Document<'_, '_>,
    is_of_format: bool,
    found: &mut Collected,
    findings: &mut Findings,
) {
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
    let tasks = starts
        .iter()
        .filter_map(|start| document.heading_at(*start));
    let tasks: Vec<usize> = tasks.map(|it| it.at).collect();
    let mut left_out = task_headings::left_out(document, has_tasks);
    for own in task_headings::beside(document, &tasks) {
        // What stands above the tasks of a whole document describes it.
        let outer = own.heading.parent.and_then(|at| document.headings.get(at));
        if own.follows || outer.is_some_and(|outer| outer.level > 1) {
            left_out.insert(own.heading.at);
        }
    }
    let filled = document.headings.iter().filter(|it| has_tasks(it));
    let filled: BTreeSet<&str> = filled.filter_map(|it| named(&it.title)).collect();
    // What has tasks elsewhere is told again.
    let is_new = |text: &str| {
        let is_elsewhere =
            |name: &str| filled.contains(name) || document.boxes_named().contains_key(name);
        named(text).is_some_and(|name| !is_elsewhere(name))
    };
    for heading in &document.headings {
        if heading.kind == Kind::Dropped && !section::is_remark(&heading.title) {
            left.add_items(document, heading);
        }
        let is_work = heading.is_work() && !document.is_in(heading.parent, |it| !it.is_work());
        if !is_work || has_tasks(heading) {
            continue;
        }
        let is_new = !is_of_format && is_new(heading::after_mark(&heading.title));
        let is_phase = is_new && heading.is_phase && task_headings::is_open_work(heading);
        let is_left_out = left_out.contains(&heading.at) || is_phase;
        if heading.task().is_some() || is_left_out {
            left.add(Role::Structure, heading.range.start);
        }
        let may_hold_work = is_left_out || (is_new && tasks.is_empty());
        if may_hold_work || is_in_list(document, heading) {
            left.add_items(document, heading);
        }
    }
    if document.boxes.is_empty() && tasks.is_empty() {
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
        for item in items_of(block).iter().filter(|_| !is_of_format) {
            let text = document.source.slice(item.text.clone());
            if phase::begins(text) && is_new(text) {
                left.add(Role::Told, item.range.start);
            }
        }
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

    /// Says so of the items right below a heading.
    fn add_items(&mut self, document: &Document<'_, '_>, heading: &Heading) {
        for item in document.own(heading).iter().flat_map(items_of) {
            self.add(Role::Told, item.range.start);
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

/// Reports whether a heading, or one above it, names a list of tasks.
fn is_in_list(document: &Document<'_, '_>, heading: &Heading) -> bool {
    names_list(heading) || document.is_in(heading.parent, names_list)
}

fn names_list(heading: &Heading) -> bool {
    section::lists_bullets(&heading.title)
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
