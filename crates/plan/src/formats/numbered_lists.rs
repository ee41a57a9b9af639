//! Which numbered lists of a document without boxes may be tasks.

use std::collections::BTreeSet;

use crate::formats::document::{Document, Heading};
use crate::formats::task_headings;
use crate::lines::outline::{Block, Item};
use crate::lines::text;
use crate::tasks::phase;
use crate::tasks::section;

/// A numbered list that is in no other one.
pub(crate) struct NumberedList<'d> {
    heading: Option<&'d Heading>,
    pub(crate) items: &'d [Item],
}

impl NumberedList<'_> {
    /// Reports whether it is work by the heading above it.
    fn is_work(&self, document: &Document<'_, '_>) -> bool {
        self.heading.is_some_and(|it| {
            section::names_list(&it.title) && !is_title_of_others(document, it)
                || phase::of_heading(&it.title).is_some()
        })
    }
}

/// Returns the places of the items of several lists if no heading says which is the work: those of
/// all, except of rules above the sections.
pub(crate) fn items_alike(document: &Document<'_, '_>) -> Option<BTreeSet<usize>> {
    let mut lists = find(document);
    if lists.len() < 2 || lists.iter().any(|list| list.is_work(document)) {
        return None;
    }
    let is_preamble = |list: &NumberedList<'_>| {
        let heading = list.heading.filter(|it| !section::lists_bullets(&it.title));
        list.heading.is_none() || heading.is_some_and(|it| is_title_of_others(document, it))
    };
    if !lists.iter().all(is_preamble) {
        lists.retain(|list| !is_preamble(list));
    }
    let items = lists.iter().flat_map(|list| list.items);
    Some(items.map(|item| item.range.start).collect())
}

/// Returns the places of lines that would go on with the list above them if the text between did
/// not make them a part of it: `3. Paint` right below a line of text.
pub(crate) fn lines_in_text(document: &Document<'_, '_>) -> Vec<usize> {
    let (mut found, mut next) = (Vec::new(), None);
    for block in &document.blocks {
        match block {
            Block::List(items) => {
                let last = items.last();
                next = last.and_then(|item| number(document.source.slice(item.range.clone())));
            }
            Block::Paragraph(range) => {
                for (at, line) in document.source.lines(range.clone()) {
                    let own = number(line);
                    if own.is_some() && own == next.map(|next| next + 1) {
                        next = own;
                        found.push(at);
                    }
                }
            }
            Block::Heading { .. } => next = None,
            Block::Opaque { .. } => {}
        }
    }
    found
}

/// Returns the number that a line of an ordered list begins with.
fn number(line: &str) -> Option<u32> {
    let line = line.trim_start();
    let (digits, rest) = line.split_at(text::position(line, |c| !c.is_ascii_digit()));
    let is_item = rest.starts_with(". ") || rest.starts_with(") ");
    digits.parse().ok().filter(|_| is_item)
}

/// Returns the numbered lists of at least two items, except those below headings of something else
/// than work.
pub(crate) fn find<'d>(document: &'d Document<'_, '_>) -> Vec<NumberedList<'d>> {
    let mut found = Vec::new();
    let mut above = None;
    for (at, block) in document.blocks.iter().enumerate() {
        match block {
            Block::Heading { .. } => {
                above = document.headings.binary_search_by_key(&at, |it| it.at).ok();
            }
            Block::List(items) if items.len() > 1 && is_numbered(document, items) => {
                let is_other = |it: &Heading| !it.is_work() || task_headings::describes(it);
                if !document.is_in(above, is_other) {
                    let heading = above.and_then(|at| document.headings.get(at));
                    found.push(NumberedList { heading, items });
                }
            }
            _ => {}
        }
    }
    found
}

fn is_numbered(document: &Document<'_, '_>, items: &[Item]) -> bool {
    items
        .first()
        .is_some_and(|item| number(document.source.slice(item.range.clone())).is_some())
}

/// Reports whether a heading is the title of a document that has sections.
fn is_title_of_others(document: &Document<'_, '_>, heading: &Heading) -> bool {
    heading.level == 1 && document.headings.len() > 1
}
