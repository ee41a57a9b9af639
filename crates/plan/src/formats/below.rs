//! What stands right below a heading: fields of a task, and boxes.

use crate::fields::attributes;
use crate::fields::key::{self, Key};
use crate::formats::document::{Document, Heading};
use crate::lines::outline::Block;
use crate::lines::source::Inline;
use crate::tasks::draft::items_of;

/// Reports whether a field that makes a task stands below a heading, rather than one that describes
/// a section as well.
pub(crate) fn has_task_fields(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let makes_task = |text: &str| {
        let key = attributes::detail_key(text).and_then(|(word, _)| key::key_of(word));
        key.is_some_and(|key| matches!(key, Key::Depends | Key::Files | Key::Agent | Key::Verify))
    };
    document.own(heading).iter().any(|block| match block {
        Block::Paragraph(range) => {
            let lines = Inline::new(document.source, range.clone());
            let mut fields = lines.lines();
            fields.any(|field| makes_task(lines.slice(field).trim()))
        }
        _ => items_of(block).iter().any(|item| {
            let line = Inline::new(document.source, item.text.clone());
            makes_task(&line.text)
        }),
    })
}
