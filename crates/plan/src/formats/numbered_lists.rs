//! Which lists of a document without boxes may be tasks: those with numbers, or with ids.

use std::collections::BTreeSet;

use crate::fields::identify;
use crate::formats::document::{Document, Heading};
use crate::lines::outline::{Block, Item};
use crate::lines::text;
use crate::tasks::draft::items_of;
use crate::tasks::phase;
use crate::tasks::section;

/// A list that is in no other one.
pub(crate) struct OuterList<'d> {
    heading: Option<&'d Heading>,
    pub(crate) items: &'d [Item],
}

impl OuterList<'_> {
    /// Reports whether it is work by the heading above it.
    fn is_work(&self, document: &Document<'_, '_>) -> bool {
        self.heading.is_some_and(|it| {
            section::names_list(&it.title) && !is_title_of_others(document, it)
                || phase::of_heading(&it.title).is_some()
        })
    }

    /// Reports whether it stands above the sections, below no more than the title.
    fn is_preamble(&self, document: &Document<'_, '_>) -> bool {
        self.heading
            .is_none_or(|it| !section::lists_bullets(&it.title) && is_title_of_others(document, it))
    }

    /// Reports whether its section consists of it.
    fn is_alone(&self, document: &Document<'_, '_>) -> bool {
        self.heading.is_some_and(|it| document.own(it).len() == 1)
    }

    fn first_number(&self, document: &Document<'_, '_>) -> Option<u32> {
        number(document.source.slice(self.items.first()?.range.clone()))
    }

    fn last_number(&self, document: &Document<'_, '_>) -> Option<u32> {
        number(document.source.slice(self.items.last()?.range.clone()))
    }
}

/// Returns the places of the items of several lists that may all be the work: those that no heading
/// tells apart, except of rules above the sections, or those that go on with the numbers of a list
/// that a heading calls the work. A single one may be as well where there is no list of bullets, or
/// where its section has nothing else: the heading may call it the work in another language.
pub(crate) fn items_alike(document: &Document<'_, '_>) -> Option<BTreeSet<usize>> {
    let lists = find(document);
    let has_named = lists.iter().any(|list| list.is_work(document));
    let mut chosen = match has_named {
        true => with_further(document, &lists),
        false => lists.iter().collect(),
    };
    if !has_named && !lists.iter().all(|list| list.is_preamble(document)) {
        chosen.retain(|list| !list.is_preamble(document));
    }
    let are_certain = match has_named {
        true => chosen.iter().all(|list| list.is_work(document)),
        false => match lists.as_slice() {
            [] => true,
            [only] => all(document).len() > 1 && !only.is_alone(document),
            _ => false,
        },
    };
    let items = chosen.iter().flat_map(|list| list.items);
    (!are_certain).then(|| items.map(|item| item.range.start).collect())
}

/// Returns the lists that headings call the work, and those that go on with their numbers.
fn with_further<'l, 'd>(
    document: &Document<'_, '_>,
    lists: &'l [OuterList<'d>],
) -> Vec<&'l OuterList<'d>> {
    let (mut chosen, mut next) = (Vec::new(), None);
    for list in lists {
        let goes_on = next.is_some() && list.first_number(document) == next;
        next = None;
        if goes_on || list.is_work(document) {
            next = list
                .last_number(document)
                .and_then(|last| last.checked_add(1));
            chosen.push(list);
        }
    }
    chosen
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
                    if own.is_some() && own == next.and_then(|next: u32| next.checked_add(1)) {
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

/// Returns the lists with numbers or ids, except those below headings of something else than work,
/// and those of one item that goes on with nothing.
pub(crate) fn find<'d>(document: &'d Document<'_, '_>) -> Vec<OuterList<'d>> {
    let mut lists = all(document);
    lists.retain(|list| is_numbered(document, list.items) || have_ids(document, list.items));
    lists
}

/// Returns all lists that are in no other one, except those below headings of something else than
/// work.
fn all<'d>(document: &'d Document<'_, '_>) -> Vec<OuterList<'d>> {
    let mut found = Vec::new();
    let mut above = None;
    for (at, block) in document.blocks.iter().enumerate() {
        match block {
            Block::Heading { .. } => {
                above = document.headings.binary_search_by_key(&at, |it| it.at).ok();
            }
            Block::List(items) => {
                let is_other = |it: &Heading| !it.is_work() || it.describes();
                if !document.is_in(above, is_other) {
                    let heading = above.and_then(|at| document.headings.get(at));
                    found.push(OuterList { heading, items });
                }
            }
            _ => {}
        }
    }
    found
}

/// Reports whether a list of several numbered items stands right below a heading.
pub(crate) fn has_one_right_below(document: &Document<'_, '_>, heading: &Heading) -> bool {
    document.own(heading).iter().any(|block| {
        let items = items_of(block);
        items.len() > 1 && is_numbered(document, items)
    })
}

fn is_numbered(document: &Document<'_, '_>, items: &[Item]) -> bool {
    let first = items.first();
    let first = first.and_then(|item| number(document.source.slice(item.range.clone())));
    first.is_some_and(|first| first > 1 || items.len() > 1)
}

/// Reports whether each of several items begins with an id that has a number, in brackets or not.
fn have_ids(document: &Document<'_, '_>, items: &[Item]) -> bool {
    items.len() > 1
        && items.iter().all(|item| {
            let found = identify::of_item(document.source.slice(item.text.clone()));
            found.is_some_and(|found| {
                !found.bare_number && found.id.contains(|c: char| c.is_ascii_digit())
            })
        })
}

/// Reports whether a heading is the title of a document that has sections.
fn is_title_of_others(document: &Document<'_, '_>, heading: &Heading) -> bool {
    heading.level == 1 && document.headings.len() > 1
}
