//! Where the boxes of a document stand that numbers count.

use crate::formats::document::{BoxedItem, Document, Heading};
use crate::formats::numbers::{is_below, number};
use crate::lines::outline::Item;
use crate::tasks::heading;

/// Reports whether a box is numbered under a heading above it: `2.1` under `## 2. Login`.
pub(crate) fn is_below_heading(document: &Document<'_, '_>, boxed: &BoxedItem) -> bool {
    let Some(own) = number(document.text(boxed)) else {
        return false;
    };
    document.is_below(boxed, |heading| {
        let outer = number(heading::after_mark(&heading.title));
        outer.is_some_and(|outer| is_below(own, outer))
    })
}

/// Reports whether the boxes right below the heading above an item begin with a numbered one.
pub(crate) fn is_among_numbered(document: &Document<'_, '_>, item: &Item) -> bool {
    let first = document.first_box_beside(item);
    first.is_some_and(|boxed| number(document.text(boxed)).is_some())
}

/// Reports whether the first box right below a heading is numbered under this number.
pub(crate) fn begins_with_part(document: &Document<'_, '_>, heading: &Heading, of: &str) -> bool {
    let first = document.first_box_below(heading);
    let own = first.and_then(|boxed| number(document.text(boxed)));
    own.is_some_and(|own| is_below(own, of))
}
