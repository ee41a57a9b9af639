//! Boxes between backticks (``- `[ ]` Draw the form``), as some agents write them.
//!
//! They are boxes where one list has the same mark twice; a list that explains the marks has each
//! of them once.

use std::collections::BTreeSet;

use crate::lines::outline::{Block, Item};
use crate::lines::source::Source;
use crate::tasks::checkbox::read_box;

/// The length of a box with its backticks.
const LENGTH: usize = 5;

/// Lets the texts of such items begin with their boxes.
pub(crate) fn unwrap(source: &Source<'_>, blocks: &mut [Block]) {
    for block in blocks {
        if let Block::List(items) = block {
            let are_boxes = repeats_mark(source, items);
            for item in items {
                list_item(source, item, are_boxes);
            }
        }
    }
}

fn list_item(source: &Source<'_>, item: &mut Item, is_box: bool) {
    if is_box && mark(source, item).is_some() {
        item.text.start += 1;
        for block in &mut item.blocks {
            if let Block::List(items) = block {
                for child in items {
                    list_item(source, child, true);
                }
            }
        }
    } else {
        unwrap(source, &mut item.blocks);
    }
}

fn repeats_mark(source: &Source<'_>, items: &[Item]) -> bool {
    let mut seen = BTreeSet::new();
    let mut marks = items.iter().filter_map(|item| mark(source, item));
    marks.any(|mark| !seen.insert(mark))
}

/// Returns the mark of a box between backticks that text follows.
fn mark<'a>(source: &Source<'a>, item: &Item) -> Option<&'a str> {
    let text = source.slice(item.text.clone());
    let inner = text.get(..LENGTH)?.strip_prefix('`')?.strip_suffix('`')?;
    let is_followed = text.get(LENGTH..)?.starts_with(' ');
    read_box(inner).filter(|_| is_followed)?;
    inner.get(1..2)
}
