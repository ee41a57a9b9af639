//! Divides a plan into the blocks that barriers separate, in the order in which they are carried
//! out.
//!
//! Phases next to each other go by their numbers (2, 2.1, 3, 10), wherever the plan writes them,
//! unless a dependency says otherwise or several have one number.

use std::collections::HashSet;
use std::ops::Range;

use crate::front_matter::Order;
use crate::tasks::draft::Draft;

/// The number of a phase, with the letter of its word: `P2.1` is P and 2, 1.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    letter: char,
    parts: Vec<u64>,
}

/// Returns the places of the tasks of each block.
pub(crate) fn in_order(
    drafts: &[Draft],
    order: Order,
    depends: &[Vec<usize>],
) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut labels = HashSet::new();
    let mut may_sort = order == Order::Auto;
    for block in drafts.chunk_by(|a, b| are_together(order, a, b)) {
        let start = blocks.last().map_or(0, |last| last.end);
        blocks.push(start..start + block.len());
        let label = block.first().and_then(|first| first.phase_label.as_ref());
        may_sort &= label.is_none_or(|label| labels.insert(label));
    }
    let mut sorted = blocks.clone();
    for run in sorted.chunk_by_mut(|a, b| letter(drafts, a) == letter(drafts, b)) {
        run.sort_by_key(|block| number(drafts, block));
    }
    match may_sort && fits(&sorted, depends) {
        true => sorted,
        false => blocks,
    }
}

/// Returns the index of a task's block in the plan.
pub(crate) fn index(order: Order, draft: &Draft) -> usize {
    match order {
        Order::Auto => draft.phase,
        Order::Phases => draft.section_index,
        Order::Eager | Order::Sequential => 0,
    }
}

fn are_together(order: Order, one: &Draft, other: &Draft) -> bool {
    let is_labelled = order == Order::Auto && one.phase_label != other.phase_label;
    index(order, one) == index(order, other) && !is_labelled
}

fn letter(drafts: &[Draft], block: &Range<usize>) -> Option<char> {
    number(drafts, block).map(|number| number.letter)
}

/// Returns the number of the phase of a block.
fn number(drafts: &[Draft], block: &Range<usize>) -> Option<Number> {
    let mut label = drafts.get(block.start)?.phase_label.as_deref()?.chars();
    let letter = label.next()?;
    let parts = label.as_str().split('.').map(|part| part.parse().ok());
    let parts: Option<Vec<u64>> = parts.collect();
    parts.map(|parts| Number { letter, parts })
}

/// Reports whether no task depends on one of a later block.
fn fits(blocks: &[Range<usize>], depends: &[Vec<usize>]) -> bool {
    let mut done = HashSet::new();
    blocks.iter().all(|block| {
        done.extend(block.clone());
        let mut own = depends.get(block.clone()).into_iter().flatten().flatten();
        own.all(|on| done.contains(on))
    })
}
