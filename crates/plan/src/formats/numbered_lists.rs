//! Which numbered lists of a document without boxes may be tasks.

use crate::formats::document::{Document, Heading};
use crate::formats::task_headings;
use crate::lines::outline::{Block, Item};
use crate::tasks::phase;
use crate::tasks::section;

/// A numbered list that is in no other one.
pub(crate) struct NumberedList<'d> {
    pub(crate) heading: Option<&'d Heading>,
    pub(crate) items: &'d [Item],
}

impl NumberedList<'_> {
    /// Reports whether it is work by the heading above it.
    pub(crate) fn is_work(&self, document: &Document<'_, '_>) -> bool {
        self.heading.is_some_and(|it| {
            section::names_list(&it.title) && !is_title_of_others(document, it)
                || phase::of_heading(&it.title).is_some()
        })
    }
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
    items.first().is_some_and(|item| {
        let text = document.source.slice(item.range.clone());
        text.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Reports whether a heading is the title of a document that has sections.
fn is_title_of_others(document: &Document<'_, '_>, heading: &Heading) -> bool {
    heading.level == 1 && document.headings.len() > 1
}
