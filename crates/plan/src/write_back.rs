//! Ticks the boxes of landed tasks in the text of a plan, changing nothing else.

use std::collections::BTreeSet;

use crate::fields::names::KnownNames;
use crate::parse;
use orchestrate_core::ids::TaskId;

/// Returns the source with the boxes of the landed tasks ticked; every other byte is unchanged.
///
/// Tasks without a box (headings) and boxes that are already ticked are left unchanged.
pub fn write_boxes(source: &str, landed: &[TaskId]) -> String {
    let (plan, _) = parse::read(source, &KnownNames::default());
    let landed: BTreeSet<&TaskId> = landed.iter().collect();
    let mut marks: Vec<usize> = plan.boxes.iter().filter(|(id, _)| landed.contains(id)).map(|(_, at)| *at).collect();
    marks.sort_unstable();
    let mut written = String::with_capacity(source.len());
    let mut at = 0;
    for mark in marks {
        let ticked = source.get(mark..mark + 1).is_none_or(|mark| matches!(mark, "x" | "X"));
        if !ticked {
            written.push_str(source.get(at..mark).unwrap_or_default());
            written.push('x');
            at = mark + 1;
        }
    }
    written.push_str(source.get(at..).unwrap_or_default());
    written
}
