//! What stands below a heading: fields, boxes that are its steps, further headings.
//!
//! `after` is always what follows the heading in the document.

use crate::check::finding::Findings;
use crate::fields::attributes;
use crate::fields::identify;
use crate::fields::key::{self, Key};
use crate::fields::names::KnownNames;
use crate::read::headings::heading;
use crate::read::headings::phase;
use crate::read::headings::section::{self, Kind};
use crate::read::lines::outline::{Block, Item};
use crate::read::lines::source::{Inline, Source};
use crate::read::lists::checkbox::read_box;
use crate::read::lists::task_line::items_of;
use orchestrate_core::text::parts::Parts;

/// Reports whether the first block is a task's heading with a field or with steps below it.
pub(crate) fn marks_task(source: &Source<'_>, blocks: &[Block], known: &KnownNames) -> bool {
    let Some((Block::Heading { level, title, .. }, after)) = blocks.split_first() else {
        return false;
    };
    heading::task(heading::after_mark(title)).is_some()
        && (has_fields(source, after)
            || (*level > 1
                && !heading::is_step(title)
                && holds_steps(source, *level, after, known)))
}

/// The levels of a document's headings that are tasks by what stands below them.
#[derive(Clone, Copy, Default)]
pub(crate) struct TaskLevels(u8);

impl TaskLevels {
    pub(crate) fn read(source: &Source<'_>, blocks: &[Block], known: &KnownNames) -> Self {
        let mut levels = Self::default();
        for (at, block) in blocks.iter().enumerate() {
            let Block::Heading { level, title, .. } = block else {
                continue;
            };
            let (own, after) = (blocks.tail(at), blocks.tail(at + 1));
            if marks_task(source, own, known) || is_fielded(source, *level, title, after, known) {
                levels.0 |= Self::bit(*level);
            }
        }
        levels
    }

    fn bit(level: u8) -> u8 {
        1_u8.checked_shl(level.into()).unwrap_or_default()
    }

    /// Returns what a heading that is no task, although it looks like one beside the tasks of its
    /// level, does not have.
    pub(crate) fn reason(
        self,
        source: &Source<'_>,
        level: u8,
        title: &str,
        after: &[Block],
    ) -> Option<&'static str> {
        const NOTHING: &str = "it has neither a box nor fields";
        let text = heading::after_mark(title);
        if heading::task(text).is_some() {
            return Some(NOTHING);
        }
        let is_struck = text.starts_with("~~");
        if self.0 & Self::bit(level) == 0 || (!is_struck && !section::is_work(title)) {
            return None;
        }
        match (
            is_named(text.trim_start_matches('~')),
            has_task_fields(source, after),
        ) {
            (true, _) | (_, true) if is_struck => Some("it is struck out"),
            (false, true) => Some("it has fields, but neither a box nor a number"),
            (true, false) => Some(NOTHING),
            // Prose, or a group.
            (false, false) | (true, true) => None,
        }
    }
}

fn is_named(text: &str) -> bool {
    heading::task(text).is_some() || has_id(text)
}

/// Reports whether a numbered heading (`2.1 API`, `JIRA-12: API`) is a task by the fields below it:
/// boxes there are its steps, unless one of them is a task itself.
pub(crate) fn is_fielded(
    source: &Source<'_>,
    level: u8,
    title: &str,
    after: &[Block],
    known: &KnownNames,
) -> bool {
    let text = heading::after_mark(title);
    level > 1
        && has_id(text)
        && has_task_fields(source, after)
        && heading::task(text).is_none()
        && phase::of_heading(title).is_none()
        && section::is_work(title)
        && !groups_numbers(level, text, after)
        && !own(after).flat_map(items_of).any(|item| {
            let line = first_line(source, item);
            read_box(&line.text).is_some_and(|mark| is_task(&line, mark.rest, known))
        })
}

/// Reports whether a title begins with an id; a bare number (`2 tests fail`) is none.
fn has_id(title: &str) -> bool {
    identify::leading(title).is_some_and(|found| !found.bare_number)
}

/// Reports whether a field that makes a task stands below a heading, rather than one that describes
/// a section as well.
fn has_task_fields(source: &Source<'_>, after: &[Block]) -> bool {
    own(after).any(|block| has_line(source, block, is_task_field))
}

fn is_task_field(text: &str) -> bool {
    let word = attributes::detail_key(text).map(|(word, _)| word.to_lowercase());
    word.and_then(|word| key::key_of(&word))
        .is_some_and(makes_task)
}

fn makes_task(key: Key) -> bool {
    matches!(key, Key::Depends | Key::Files | Key::Agent | Key::Verify)
}

/// Reports whether the next heading is that of a task below this one, by its number (`2.1` below
/// `2`) or its word.
fn groups_numbers(level: u8, text: &str, after: &[Block]) -> bool {
    let next = after.iter().find_map(|block| match block {
        Block::Heading {
            level: own, title, ..
        } => Some((*own, heading::after_mark(title))),
        _ => None,
    });
    let Some((_, next)) = next.filter(|(own, _)| *own > level) else {
        return false;
    };
    let id = |text| identify::leading(text).map(|found| found.id);
    (heading::task(next).is_some() && !heading::is_step(next))
        || id(next)
            .zip(id(text))
            .is_some_and(|(child, own)| is_under(child, own))
}

/// Reports whether a field stands below a heading.
pub(crate) fn has_fields(source: &Source<'_>, after: &[Block]) -> bool {
    own(after).any(|block| is_field_block(source, block))
}

/// Returns the blocks before the next heading.
fn own(after: &[Block]) -> impl Iterator<Item = &Block> {
    after
        .iter()
        .take_while(|block| !matches!(block, Block::Heading { .. }))
}

fn is_field_block(source: &Source<'_>, block: &Block) -> bool {
    has_line(source, block, is_field)
}

fn is_field(text: &str) -> bool {
    let word = attributes::detail_key(text).map(|(word, _)| word.to_lowercase());
    word.is_some_and(|word| {
        key::key_of(&word).is_some() || matches!(word.as_str(), "type" | "status")
    })
}

/// Reports whether a line of a paragraph, or the first line of an item of a list, is such a one.
fn has_line(source: &Source<'_>, block: &Block, is_such: impl Fn(&str) -> bool) -> bool {
    match block {
        Block::Paragraph(range) => source
            .lines(range.clone())
            .any(|(_, line)| is_such(line.trim())),
        Block::List(items) => items
            .iter()
            .any(|item| is_such(&first_line(source, item).text)),
        _ => false,
    }
}

fn first_line<'a>(source: &Source<'a>, item: &Item) -> Inline<'a> {
    Inline::new(source, item.text.clone())
}

/// Reports whether the boxes below a heading, or below its criteria, are steps of one task: none of
/// them is a task by an id or an attribute of its own.
fn holds_steps(source: &Source<'_>, level: u8, after: &[Block], known: &KnownNames) -> bool {
    let belongs = |block: &&Block| match block {
        Block::Heading {
            level: own, title, ..
        } => *own > level && section::kind(title) == Kind::Notes,
        _ => true,
    };
    let mut boxes = after
        .iter()
        .take_while(belongs)
        .flat_map(items_of)
        .filter_map(|item| {
            let line = first_line(source, item);
            let rest = read_box(&line.text)?.rest;
            Some(is_task(&line, rest, known))
        });
    boxes.next() == Some(false) && !boxes.any(|is_task| is_task)
}

/// Reports whether the text after a box, from byte `rest` on, is that of a task rather than a step.
fn is_task(line: &Inline<'_>, rest: usize, known: &KnownNames) -> bool {
    let title = line.text.tail(rest);
    let names_task = heading::task(title).is_some() && !heading::is_step(title);
    names_task || has_id(title) || {
        let found = attributes::read_line(line, rest, known, &mut Findings::default());
        found.marked_id.is_some() || found.attributes.makes_task()
    }
}

/// Reports whether a field below a heading says the status or the goal of what it names.
pub(crate) fn says_status(source: &Source<'_>, after: &[Block]) -> bool {
    let mut paragraphs = own(after).filter_map(|block| match block {
        Block::Paragraph(range) => Some(source.lines(range.clone())),
        _ => None,
    });
    paragraphs.any(|mut lines| lines.any(|(_, line)| is_status(line)))
}

fn is_status(line: &str) -> bool {
    attributes::detail_key(line.trim()).is_some_and(|(word, _)| matches!(word, "Status" | "Goal"))
}

/// Reports whether headings with boxes stand below a heading of this level.
pub(crate) fn groups_headings(level: u8, after: &[Block]) -> bool {
    let below = after.iter().map_while(|block| match block {
        Block::Heading {
            level: own, title, ..
        } if *own > level => Some(Some(title)),
        Block::Heading { .. } => None,
        _ => Some(None),
    });
    below
        .flatten()
        .any(|title| heading::box_of(title).is_some())
}

/// Reports whether the next heading is that of a task numbered under this one (`Task 2.1` below
/// `Task 2`).
pub(crate) fn groups_tasks(level: u8, title: &str, after: &[Block]) -> bool {
    let number = |title| heading::task(heading::after_mark(title)).map(|found| found.number);
    let next = after.iter().find_map(|block| match block {
        Block::Heading {
            level: own, title, ..
        } => Some(Some(title).filter(|_| *own > level)),
        _ => None,
    });
    next.flatten()
        .and_then(|next| number(next).zip(number(title)))
        .is_some_and(|(child, own)| is_under(child, own))
}

/// Reports whether a number is below another one.
fn is_under(child: &str, own: &str) -> bool {
    child
        .strip_prefix(own)
        .is_some_and(|rest| rest.starts_with('.'))
}

/// Reports whether the boxes right below a heading are numbered under it: `2.1` below `2.
/// Validation`.
pub(crate) fn continues_numbers(source: &Source<'_>, title: &str, after: &[Block]) -> bool {
    let Some(number) = section::number(title) else {
        return false;
    };
    own(after).flat_map(items_of).next().is_some_and(|item| {
        let line = first_line(source, item).text;
        let title = read_box(&line).and_then(|mark| line.get(mark.rest..));
        let id = title.and_then(identify::leading).map(|found| found.id);
        id.and_then(|id| id.strip_prefix(number.as_str()))
            .is_some_and(|rest| rest.starts_with('.'))
    })
}
