//! What stands below an item: attributes and details of its task, and the values of a key that a
//! line leaves open.

use std::ops::Range;

use crate::fields::attributes::{self, Form};
use crate::finding::Findings;
use crate::lines::outline::{Block, Item};
use crate::lines::source::Inline;
use crate::tasks::draft::{Reader, items_of};
use crate::tasks::parts;
use crate::tasks::taken::{OpenKey, Taken};
use orchestrate_core::text::parts::behind_leading;

impl Reader<'_, '_> {
    /// Takes the first items of a list as the values of a key that the line above it leaves open,
    /// and returns the others.
    pub(crate) fn values_below<'i>(
        &mut self,
        open: Option<OpenKey>,
        items: &'i [Item],
        taken: &mut Taken<'_>,
    ) -> &'i [Item] {
        let Some(open) = open else { return items };
        let rest = behind_leading(items, |item| self.is_value(open.key, item));
        let values: Vec<&Item> = items.iter().take(items.len() - rest.len()).collect();
        if !values.is_empty() {
            self.listed(open, &values, taken);
        }
        rest
    }

    /// Returns the first paragraph of an item without the key in its last line, and that key;
    /// `None` if it does not end so.
    pub(crate) fn split_key<'i>(
        &self,
        item: &Item,
        line: &Inline<'i>,
    ) -> Option<(Inline<'i>, OpenKey)> {
        // Most items have one line.
        if line.is_one_line() || !self.begins_with_value(item.blocks.first()?) {
            return None;
        }
        let last = line.lines().last()?;
        let key = self.open_key(line.place(&last))?;
        Some((line.without_lines(&[last]), key))
    }

    /// Parses the blocks below an item as attributes and details, but for those items of its lists
    /// that are its parts if it has such. The list after a key is its value, up to the first box.
    pub(crate) fn item_body(
        &mut self,
        item: &Item,
        mut open: Option<OpenKey>,
        has_parts: bool,
        mut taken: Taken<'_>,
    ) {
        let mut blocks = item.blocks.iter().peekable();
        while let Some(block) = blocks.next() {
            match block {
                Block::List(items) => {
                    for item in self.values_below(open.take(), items, &mut taken) {
                        if !has_parts || !parts::is_part(self, item) {
                            self.item_detail(Form::Bullet, item, &mut taken);
                        }
                    }
                }
                Block::Paragraph(range) => {
                    let next = blocks.peek().filter(|next| self.begins_with_value(next));
                    let split = next.and_then(|_| self.key_at_end(range.clone()));
                    let end = split.map_or(range.end, |(at, _)| at);
                    self.block_detail(&Block::Paragraph(range.start..end), &mut taken);
                    open = split.map(|(_, key)| key);
                }
                other => self.block_detail(other, &mut taken),
            }
        }
    }

    /// Reports whether a block is a list whose first item has no box.
    fn begins_with_value(&self, block: &Block) -> bool {
        items_of(block)
            .first()
            .is_some_and(|item| self.boxed_line(item).is_none())
    }

    /// Returns the key in the last line of a paragraph, and the end of what stands before it.
    fn key_at_end(&self, paragraph: Range<usize>) -> Option<(usize, OpenKey)> {
        let start = paragraph.start;
        let (at, line) = self.source.lines(paragraph).last()?;
        let key = self.open_key(at..at + line.len())?;
        Some((start + self.source.slice(start..at).trim_end().len(), key))
    }

    /// Returns the key in a line that has no value for it.
    fn open_key(&self, line: Range<usize>) -> Option<OpenKey> {
        let line = Inline::new(self.source, line);
        let field = attributes::read_detail(&line, Form::Bullet, &mut Findings::default())?;
        field.value.is_empty().then(|| OpenKey::from_field(&field))
    }
}
