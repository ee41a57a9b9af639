//! What the items below an item of a list are to it: tasks that are parts of it, or remarks.

use crate::fields::identify;
use crate::lines::outline::Item;
use crate::lines::source::Source;
use crate::lines::text;
use crate::tasks::checkbox::odd_box;
use crate::tasks::draft::{Reader, items_of};
use crate::tasks::entry::Entry;
use crate::tasks::phase;

/// An item whose parts are tasks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// It is no task itself, and its tasks know it by this name.
    Group(String),
    /// It is a task, since all its parts are optional, or since requirements of its own are named.
    Task,
}

/// Returns what an item is if the boxes right below it are its parts rather than its steps: one of
/// them is numbered under it (`2` above `2.1`, be `2` its id or its number in the list), or it has
/// no id and begins with `Phase N`, or they all have names (`T001`).
pub(crate) fn parent(
    reader: &Reader<'_, '_>,
    entry: &Entry<'_, '_>,
    in_list: Option<&str>,
) -> Option<Parent> {
    let item = entry.item;
    // Most items have no box below them.
    item.blocks
        .iter()
        .flat_map(items_of)
        .find(|child| reader.boxed_line(child).is_some())?;
    let own = after_label(entry.text());
    let own_id = identify::of_item(own).map(|found| found.id);
    let number = own_id.or(in_list);
    let (mut boxes, mut numbered, mut named) = (0, 0, 0);
    for child in item.blocks.iter().flat_map(items_of) {
        let Some((line, mark)) = reader.boxed_line(child) else {
            continue;
        };
        let found = identify::of_item(after_label(line.text.get(mark.rest..)?));
        let id = found.as_ref().map_or("", |found| found.id);
        let is_below = number
            .and_then(|number| id.strip_prefix(number))
            .is_some_and(|rest| rest.starts_with('.'));
        boxes += 1;
        numbered += usize::from(is_below);
        named += usize::from(id.starts_with(|c: char| c.is_ascii_uppercase()));
    }
    if let Some(number) = number.filter(|_| numbered > 0) {
        let is_task = !entry.is_optional() && !phase::begins(own) && has_only_extras(reader, item);
        return Some(match is_task {
            true => Parent::Task,
            false => Parent::Group(number.to_owned()),
        });
    }
    let is_group = own_id.is_none() && boxes > 0 && (named == boxes || phase::begins(own));
    is_group.then(|| Parent::Group(text::without_strong(own)))
}

/// Reports whether an item names requirements of its own, so that it does more than group those
/// beside it that are numbered under it.
pub(crate) fn has_requirements(reader: &Reader<'_, '_>, item: &Item) -> bool {
    let mut parts = item.blocks.iter().flat_map(items_of);
    parts.any(|part| names_requirements(reader.source, part))
}

/// Reports whether an item names numbers in italics: `_Requirements: 1.1, 2.3_`, in any language.
pub(crate) fn names_requirements(source: &Source<'_>, item: &Item) -> bool {
    let text = source.slice(item.text.clone()).trim();
    let inner = ['_', '*']
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark));
    let value = inner.and_then(|inner| inner.split_once([':', '：']));
    value.is_some_and(|(key, value)| {
        !key.starts_with(['_', '*']) && value.trim_start().starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Reports whether every part of an item is optional, so that the item itself is what is to be
/// done.
pub(crate) fn has_only_extras(reader: &Reader<'_, '_>, item: &Item) -> bool {
    item.blocks
        .iter()
        .flat_map(items_of)
        .all(|child| match reader.boxed_line(child) {
            Some((_, mark)) => mark.optional,
            None => has_only_extras(reader, child),
        })
}

/// Reports whether an item below a parent is a part of it rather than a remark.
pub(crate) fn is_part(reader: &Reader<'_, '_>, item: &Item) -> bool {
    reader.boxed_line(item).is_some() || is_no_remark(reader, item)
}

/// Reports whether an item without a box is more than a remark: nearly a box, or above one.
pub(crate) fn is_no_remark(reader: &Reader<'_, '_>, item: &Item) -> bool {
    odd_box(&reader.first_line(item).text).is_some() || is_above_box(reader, item)
}

/// Reports whether an item with a box stands anywhere below an item.
pub(crate) fn is_above_box(reader: &Reader<'_, '_>, item: &Item) -> bool {
    let mut below = item.blocks.iter().flat_map(items_of);
    below.any(|child| reader.boxed_line(child).is_some() || is_above_box(reader, child))
}

/// Returns a text after the label of parallel tasks that it may begin with.
fn after_label(text: &str) -> &str {
    let begin = text.trim_start();
    begin
        .strip_prefix("[P]")
        .or_else(|| begin.strip_prefix("(P)"))
        .map_or(text, str::trim_start)
}
