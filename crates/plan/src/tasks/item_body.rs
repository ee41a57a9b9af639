//! What stands below an item: attributes and details of its task, and the values of a key that a
//! line leaves open.

use crate::fields::attributes::Form;
use crate::lines::outline::{Block, Item};
use crate::tasks::draft::{Draft, Reader, items_of};
use crate::tasks::parts;
use orchestrate_core::text::parts::behind_leading;

impl Reader<'_, '_> {
    /// Takes the first items of a list as the values of a key that the line above it leaves open,
    /// and returns the others.
    pub(crate) fn values_below<'i>(&mut self, items: &'i [Item], draft: &mut Draft) -> &'i [Item] {
        let Some(open) = draft.open.take() else {
            return items;
        };
        let rest = behind_leading(items, |item| self.is_value(open.key, item));
        let values: Vec<&Item> = items.iter().take(items.len() - rest.len()).collect();
        if !values.is_empty() {
            self.listed(open, &values, draft);
        }
        rest
    }

    /// Parses the blocks below an item as attributes and details, but for those items of its lists
    /// that are its parts if it has such. The list after a key is its value, up to the first box.
    pub(crate) fn item_body(&mut self, item: &Item, has_parts: bool, draft: &mut Draft) {
        let mut blocks = item.blocks.iter().peekable();
        while let Some(block) = blocks.next() {
            match block {
                Block::List(items) => {
                    for item in self.values_below(items, draft) {
                        if !has_parts || !parts::is_part(self, item) {
                            self.item_detail(Form::Bullet, item, draft);
                        }
                    }
                }
                Block::Paragraph(range) => {
                    let next = blocks.peek().copied();
                    self.paragraph_detail(range.clone(), next, draft);
                }
                other => self.block_detail(other, draft),
            }
        }
    }

    /// Reports whether a block is a list whose first item has no box.
    pub(crate) fn begins_with_value(&self, block: Option<&Block>) -> bool {
        let first = block.and_then(|block| items_of(block).first());
        first.is_some_and(|item| self.boxed_line(item).is_none())
    }
}
