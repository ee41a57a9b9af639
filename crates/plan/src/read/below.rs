//! What stands below a heading: fields, boxes that are its steps, further headings.
//!
//! `after` is always what follows the heading in the document.

use crate::check::finding::Findings;
use crate::fields::attributes;
use crate::fields::identify;
use crate::fields::key;
use crate::fields::names::KnownNames;
use crate::read::checkbox::read_box;
use crate::read::heading;
use crate::read::outline::{Block, Item};
use crate::read::section::{self, Kind};
use crate::read::source::{Inline, Source};
use crate::read::task_line::items_of;

/// Reports whether the first block is a task's heading with a field or with steps below it.
pub(crate) fn marks_task(source: &Source<'_>, blocks: &[Block], known: &KnownNames) -> bool {
    let Some((Block::Heading { level, title, .. }, after)) = blocks.split_first() else {
        return false;
    };
    heading::task(heading::after_mark(title)).is_some()
        && (has_fields(source, after)
            || (*level > 1 && !heading::is_step(title) && holds_steps(source, *level, after, known)))
}

/// Reports whether a field stands below a heading.
pub(crate) fn has_fields(source: &Source<'_>, after: &[Block]) -> bool {
    own(after).any(|block| is_field_block(source, block))
}

/// Returns the blocks before the next heading.
fn own(after: &[Block]) -> impl Iterator<Item = &Block> {
    after.iter().take_while(|block| !matches!(block, Block::Heading { .. }))
}

fn is_field_block(source: &Source<'_>, block: &Block) -> bool {
    let is_field = |text: &str| {
        let word = attributes::detail_key(text).map(|(word, _)| word.to_lowercase());
        word.is_some_and(|word| key::key_of(&word).is_some() || matches!(word.as_str(), "type" | "status"))
    };
    match block {
        Block::Paragraph(range) => source.lines(range.clone()).any(|(_, line)| is_field(line.trim())),
        Block::List(items) => items.iter().any(|item| is_field(&first_line(source, item).text)),
        _ => false,
    }
}

fn first_line<'a>(source: &Source<'a>, item: &Item) -> Inline<'a> {
    Inline::new(source, item.text.clone())
}

/// Reports whether the boxes below a heading, or below its criteria, are steps of one task: none of them is a task by
/// an id or an attribute of its own.
fn holds_steps(source: &Source<'_>, level: u8, after: &[Block], known: &KnownNames) -> bool {
    let belongs = |block: &&Block| match block {
        Block::Heading { level: own, title, .. } => *own > level && section::kind(title) == Kind::Notes,
        _ => true,
    };
    let mut boxes = after.iter().take_while(belongs).flat_map(items_of).filter_map(|item| {
        let line = first_line(source, item);
        let rest = read_box(&line.text)?.rest;
        Some(is_task(&line, rest, known))
    });
    boxes.next() == Some(false) && !boxes.any(|is_task| is_task)
}

/// Reports whether the text after a box, from byte `rest` on, is that of a task rather than a step.
fn is_task(line: &Inline<'_>, rest: usize, known: &KnownNames) -> bool {
    let title = line.text.get(rest..).unwrap_or_default();
    let names_task = heading::task(title).is_some() && !heading::is_step(title);
    let has_id = identify::leading(title).is_some_and(|found| !found.bare_number);
    names_task || has_id || {
        let found = attributes::read_line(line, rest, known, &mut Findings::default());
        found.marked_id.is_some() || found.attributes.makes_task()
    }
}

/// Reports whether a field below a heading says the status or the goal of what it names.
pub(crate) fn says_status(source: &Source<'_>, after: &[Block]) -> bool {
    let is_status =
        |line: &str| attributes::detail_key(line.trim()).is_some_and(|(word, _)| matches!(word, "Status" | "Goal"));
    let mut paragraphs = own(after).filter_map(|block| match block {
        Block::Paragraph(range) => Some(source.lines(range.clone())),
        _ => None,
    });
    paragraphs.any(|mut lines| lines.any(|(_, line)| is_status(line)))
}

/// Reports whether headings with boxes stand below a heading of this level.
pub(crate) fn groups_headings(level: u8, after: &[Block]) -> bool {
    let below = after.iter().map_while(|block| match block {
        Block::Heading { level: own, title, .. } if *own > level => Some(Some(title)),
        Block::Heading { .. } => None,
        _ => Some(None),
    });
    below.flatten().any(|title| heading::box_of(title).is_some())
}

/// Reports whether the next heading is that of a task numbered under this one (`Task 2.1` below `Task 2`).
pub(crate) fn groups_tasks(level: u8, title: &str, after: &[Block]) -> bool {
    let number = |title| heading::task(heading::after_mark(title)).map(|found| found.number);
    let next = after.iter().find_map(|block| match block {
        Block::Heading { level: own, title, .. } => Some(Some(title).filter(|_| *own > level)),
        _ => None,
    });
    let is_under = |(child, own): (&str, &str)| child.strip_prefix(own).is_some_and(|rest| rest.starts_with('.'));
    next.flatten().and_then(|next| number(next).zip(number(title))).is_some_and(is_under)
}

/// Reports whether the boxes right below a heading are numbered under it: `2.1` below `2. Validation`.
pub(crate) fn continues_numbers(source: &Source<'_>, title: &str, after: &[Block]) -> bool {
    let Some(number) = section::number(title) else { return false };
    own(after).flat_map(items_of).next().is_some_and(|item| {
        let line = first_line(source, item).text;
        let title = read_box(&line).and_then(|mark| line.get(mark.rest..));
        let id = title.and_then(identify::leading).map(|found| found.id);
        id.and_then(|id| id.strip_prefix(number.as_str())).is_some_and(|rest| rest.starts_with('.'))
    })
}
