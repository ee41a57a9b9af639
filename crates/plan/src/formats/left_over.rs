//! What a reading has left over that looks like work: headings of tasks and of parts of a series
//! without a task, lists below a heading such as "To do", and lines that begin with `Task N:`.
//!
//! It is told, since a format knows it for no task, but a check lists it, so that no part of a plan
//! is left out silently.

use std::ops::Range;

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::lines::Role;
use crate::lines::outline::Block;
use crate::tasks::draft::items_of;
use crate::tasks::heading;
use crate::tasks::section::{self, Kind};

const WITHOUT_TASK: &str = "it looks like work, but no task was read there";

/// Records what looks like work beside the tasks of a document.
pub(crate) fn record(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    if found.drafts.is_empty() {
        return;
    }
    let mut starts: Vec<usize> = found.drafts.iter().map(|draft| draft.at).collect();
    starts.sort_unstable();
    let mut left = Left::default();
    for heading in &document.headings {
        if is_work(document, heading) && !holds(&starts, &document.section(heading)) {
            of_heading(document, heading, &starts, &mut left);
        }
    }
    for block in &document.blocks {
        if let Block::Paragraph(range) = block {
            let lines = document.source.lines(range.clone());
            let named = lines.filter(|(_, line)| names_task(line));
            left.lines.extend(named.map(|(at, _)| at));
        }
    }
    let source = document.source;
    for at in left.headings {
        if found
            .lines
            .refuse_a(Role::Structure, source, at, WITHOUT_TASK)
        {
            findings.skip(at, WITHOUT_TASK);
        }
    }
    for at in left.lines {
        if found.lines.refuse(source, at, WITHOUT_TASK) {
            findings.skip(at, WITHOUT_TASK);
        }
    }
}

/// Places that look like work.
#[derive(Default)]
struct Left {
    /// Those of headings that begin no task.
    headings: Vec<usize>,
    /// Those of lines that agents are only told.
    lines: Vec<usize>,
}

/// Adds the places of a heading, and of the lists right below it, that look like work.
fn of_heading(document: &Document<'_, '_>, heading: &Heading, starts: &[usize], left: &mut Left) {
    let is_beside_tasks = is_beside_tasks(document, heading, starts);
    if heading.task().is_some() || is_beside_tasks {
        left.headings.push(heading.range.start);
    }
    if is_beside_tasks || section::lists_bullets(&heading.title) {
        let items = document.own(heading).iter().flat_map(items_of);
        left.lines.extend(items.map(|item| item.range.start));
    }
}

/// Reports whether a heading is one of a series (`Phase 2`, `3. Docs`) of which another one has
/// tasks, and has something below it.
fn is_beside_tasks(document: &Document<'_, '_>, heading: &Heading, starts: &[usize]) -> bool {
    let Some(word) = heading.series().filter(|_| heading.end > heading.at + 1) else {
        return false;
    };
    let mut others = document.headings.iter().filter(|other| {
        other.parent == heading.parent && other.level == heading.level && other.at != heading.at
    });
    others.any(|other| other.series() == Some(word) && holds(starts, &document.section(other)))
}

/// Reports whether a task begins in a range.
fn holds(starts: &[usize], range: &Range<usize>) -> bool {
    let first = starts.partition_point(|start| *start < range.start);
    starts.get(first).is_some_and(|start| *start < range.end)
}

/// Reports whether neither a heading nor one above it speaks of anything else than work.
fn is_work(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let mut next = Some(heading);
    while let Some(own) = next {
        if !matches!(own.kind, Kind::Work | Kind::Optional) {
            return false;
        }
        next = own.parent.and_then(|at| document.headings.get(at));
    }
    true
}

/// Reports whether a line of a paragraph begins with `Task N:`.
fn names_task(line: &str) -> bool {
    let text = line.trim_start_matches(['*', '_', ' ']);
    heading::task(text).is_some_and(|task| task.counts) && text.contains(':')
}
